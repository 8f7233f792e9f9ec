// The second door: for `serve` and the start of the engine. It pulls in no package.
export { findHolder, identityOf, type LockHolder, lockHolder, readHolder, takeLock } from "./lock.ts";
