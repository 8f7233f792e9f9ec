import { AgentCardsError } from "../model/mod.ts";
import { renameSynced, syncPath, syncTree } from "../platform/mod.ts";
import { cp, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { nameOfReplaced, unpackBackup } from "./backup.ts";
import type { Database } from "./database.ts";
import { openDatabase } from "./pglite/open.ts";

export interface RestoreOptions {
  readonly file: string;
  readonly dataDir: string;
  readonly results: string;
  /** The folder that keeps the database of before. */
  readonly backups: string;
  /** Makes the restored database fit for use before it takes its place. */
  prepare(db: Database): Promise<void>;
}

const draftOf = (dataDir: string) => `${dataDir}.draft`;
/** A database that is complete and only has to take its place. */
const readyOf = (dataDir: string) => `${dataDir}.restored`;

/**
 * Puts the database of a backup into the place of the present one, which is kept. It may be killed at any point: then
 * the next opening either finds the old database or puts the new one into its place.
 */
export async function restoreDatabase(options: RestoreOptions): Promise<{ kept: string | undefined }> {
  const { file, dataDir, results, backups, prepare } = options;
  const [draft, ready] = [draftOf(dataDir), readyOf(dataDir)];
  await finishRestore(dataDir);
  const unpacked = await unpackBackup(file, draft);
  try {
    const db = await openDatabase(unpacked.data);
    await prepare(db).finally(db.close);
    if (unpacked.results) await bringResults(unpacked.results, results);
    await syncTree(unpacked.data);
  } catch (cause) {
    await rm(draft, { recursive: true, force: true });
    throw new AgentCardsError("DB_UNUSABLE", `${file} is not a usable backup`, { cause, hint: "Nothing was changed." });
  }
  await renameSynced(unpacked.data, ready);
  const kept = join(backups, nameOfReplaced());
  await mkdir(backups, { recursive: true, mode: 0o700 });
  const had = await rename(dataDir, kept).then(() => true, () => false);
  if (had) await syncPath(backups);
  await renameSynced(ready, dataDir);
  await rm(draft, { recursive: true, force: true });
  return { kept: had ? kept : undefined };
}

async function bringResults(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const name of await readdir(from)) {
    // Beside first: a copy that was cut off must not be taken for the result.
    const draft = join(to, `${name}.tmp`);
    await cp(join(from, name), draft);
    await syncPath(draft);
    await rename(draft, join(to, name));
  }
  await syncPath(to);
}

/** Finishes or takes back a `restore` that was killed, and removes what older ones left behind. */
export async function finishRestore(dataDir: string): Promise<void> {
  const isThere = (path: string) => stat(path).then(() => true, () => false);
  if (await isThere(readyOf(dataDir)) && !await isThere(dataDir)) await renameSynced(readyOf(dataDir), dataDir);
  const name = basename(dataDir);
  const left = new RegExp(`^${name}\\.(?:draft|restored|new|[0-9a-f-]{36}\\.tmp)$`);
  const entries = await readdir(dirname(dataDir)).catch(() => []);
  for (const entry of entries.filter((entry) => left.test(entry))) {
    await rm(join(dirname(dataDir), entry), { recursive: true, force: true });
  }
}
