// The second door: for `serve` and the start of the engine. It pulls in no package.
export { findHolder, identityOf, type LockHolder, lockHolder, readHolder, takeLock } from "./lock.ts";
export { createPruner, DAY_MS, HOUR_MS, KEPT, type Pruner } from "./retention.ts";
export { isDuplicate, isNoDatabase, lazyDatabase, noDatabase } from "./database.ts";
