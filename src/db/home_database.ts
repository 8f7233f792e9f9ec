import { AgentCardsError, messageOf } from "../model/mod.ts";
import { ownProgram, systemProgram } from "../platform/mod.ts";
import { log } from "../telemetry/mod.ts";
import { Command, installation } from "../platform/start.ts";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { backupsBefore, copyDatabase, keptBackups, nameOfBefore, pruneBackups } from "./backup.ts";
import { startMaintenance } from "./pglite/maintenance.ts";
import { type HomeDatabase, PROBE, sizeOf } from "./kept_database.ts";
import { checkMarker, createMarkerKeeper, requireKnownFolder } from "./marker.ts";
import { type FolderDatabase, openDatabase } from "./pglite/open.ts";
import type { Durability } from "./pglite/worker.ts";
import { type Database, noDatabase } from "./database.ts";
import { finishRestore } from "./restore.ts";
import { superviseDatabase } from "./supervisor.ts";

export interface HomeDatabaseOptions {
  readonly dataDir: string;
  readonly marker: string;
  readonly backups: string;
  readonly results: string;
  readonly durability: Durability;
  readonly version: string;
  /** False once the home is another's. */
  readonly isStillOurs?: (() => boolean) | undefined;
  /** True while work is under way that must not wait. */
  isBusy(): boolean;
  /** Told after the database was opened anew. */
  onReopened(): void;
}

const BACKUP_EVERY_MS = 24 * 3_600_000;
const BACKUPS_KEPT = 7;
/** After a failed backup the next is tried so much later. */
const AFTER_FAILURE_MS = 3_600_000;

export function createHomeDatabase(options: HomeDatabaseOptions): HomeDatabase {
  const { dataDir, marker, backups, results, durability, version, isBusy, onReopened } = options;
  const keeper = createMarkerKeeper(marker, options.isStillOurs);
  let nextBackup = 0;
  let current: FolderDatabase | undefined;

  const supervised = superviseDatabase({
    async open(onDeath) {
      // The migrations of another version must not run under this one.
      await installation.unchanged();
      await finishRestore(dataDir);
      await requireKnownFolder(marker, dataDir);
      const db = await openDatabase(dataDir, {
        durability,
        onDeath,
        beforeMigration: (db, schema) => backUp(db, join(backups, nameOfBefore(version, schema))),
      }).catch(async (error) => {
        throw await withWayBack(error, backups);
      });
      try {
        await checkMarker(db, marker, durability);
      } catch (error) {
        await db.close();
        throw error;
      }
      return current = db;
    },
    onReopened,
    onWritten: keeper.written,
  });

  const maintenance = startMaintenance({ ready: supervised.ready, isBusy, onIdle: backUpDaily });

  function opened(): FolderDatabase {
    if (!current) throw noDatabase();
    return current;
  }

  async function backUp(db: FolderDatabase, file: string): Promise<void> {
    const copy = `${join(backups, crypto.randomUUID())}.copy`;
    try {
      await copyDatabase(db, { dataDir, results, to: copy, version });
      await pack(copy, file);
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  }

  async function backUpDaily(db: Database): Promise<void> {
    if (Date.now() < nextBackup) return;
    nextBackup = Date.now() + AFTER_FAILURE_MS;
    const [newest] = await keptBackups(backups);
    const due = (newest?.at ?? 0) + BACKUP_EVERY_MS;
    if (due > Date.now()) return void (nextBackup = Math.min(due, nextBackup));
    const [{ n: runs }] = await db.query<{ n: number }>("select count(*)::int as n from workflow_run") as [
      { n: number },
    ];
    // A home in which nothing ever ran has nothing that could not be made anew.
    if (runs === 0) return;
    try {
      await backUp(opened(), join(backups, `daily-${new Date().toISOString().slice(0, 10)}.tar.gz`));
      await pruneBackups(backups, BACKUPS_KEPT);
      log("info", "backup_made");
    } catch (error) {
      log("warning", "backup_failed", { reason: messageOf(error) });
    }
  }

  return {
    database: supervised.database,
    ready: supervised.ready,
    giveUp: supervised.giveUp,
    state: supervised.state,
    async accept() {
      for (const suffix of ["", ".last"]) await rm(marker + suffix, { force: true });
      return await supervised.retry();
    },
    probe: () => supervised.database.exec(PROBE),
    bytes: () => sizeOf(supervised.database),
    backup: async (file) => {
      await supervised.ready();
      await backUp(opened(), file);
    },
    abandon() {
      maintenance.stop();
      supervised.abandon();
    },
    async close() {
      maintenance.stop();
      if (current && supervised.state().kind === "open") await keeper.settle(current);
      await supervised.close();
    },
  };
}

/** After a downgrade: names the backup that was made before the newer version changed the database. */
async function withWayBack(error: unknown, backups: string): Promise<unknown> {
  if (!(error instanceof AgentCardsError) || error.code !== "DB_TOO_NEW") return error;
  const [newest] = await backupsBefore(backups);
  if (!newest) return error;
  const hint =
    `${error.hint} To go on with the database of before: \`agentcards restore --before ${newest.version}\`, ` +
    "which tells first what is lost.";
  return new AgentCardsError(error.code, error.message, { hint });
}

/** Compresses and checks a copy in another process, so that nobody waits for it. */
async function pack(copy: string, file: string): Promise<void> {
  const [command, ...args] = ownProgram();
  const { success, stderr } = await new Command(systemProgram("nice"), {
    args: [command!, ...args, "engine", "pack", copy, file],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`the backup could not be made: ${new TextDecoder().decode(stderr).trim()}`);
}
