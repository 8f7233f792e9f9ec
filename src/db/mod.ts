// The door of this room: other rooms import this file only.
export { type BackupBefore, backupsBefore, keptBackups, packBackup, requireBackup } from "./backup.ts";
export type { Database } from "./database.ts";
export type { HomeDatabase } from "./kept_database.ts";
export {
  findHolder,
  hasOpen,
  identityOf,
  lockFolder,
  type LockHolder,
  lockHolder,
  readHolder,
  takeLock,
} from "./lock.ts";
export { takePlace } from "./marker.ts";
export type { MovedTable } from "./move.ts";
export { restoreDatabase } from "./restore.ts";
export type { DatabaseState } from "./supervisor.ts";
export { writtenSince } from "./written_since.ts";
