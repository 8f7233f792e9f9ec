import { AgentCardsError, isObject } from "../model/mod.ts";
import { renameSynced, syncPath, SYSTEM_PATH, systemProgram } from "../platform/mod.ts";
import { execFile } from "node:child_process";
import { chmod, cp, link, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { type FolderDatabase, openDatabase } from "./pglite/open.ts";

/** The facts about a backup, in `backup.json` beside the database inside of it. */
export interface BackupFacts {
  readonly version: string;
  readonly at: string;
}

export interface CopyOptions {
  readonly dataDir: string;
  readonly results: string;
  /** The folder that the copy goes to. */
  readonly to: string;
  readonly version: string;
}

const run = promisify(execFile);
/** The program that compresses is found by `tar` itself. */
const TAR = { env: { PATH: SYSTEM_PATH } };

/** Copies the database and the stored results that unfinished runs need, while nothing is written. */
export async function copyDatabase(db: FolderDatabase, { dataDir, results, to, version }: CopyOptions): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await mkdir(join(to, "results"), { recursive: true, mode: 0o700 });
  await db.atRest(() => cp(dataDir, join(to, "data"), { recursive: true, preserveTimestamps: true }));
  const needed = await db.query<{ handle: string }>(
    `select handle from result_handle where run in (select id from workflow_run where status <> 'completed')`,
  ).catch(() => []);
  // A second name for the same file: stored results never change.
  for (const { handle } of needed) {
    const [from, target] = [join(results, handle), join(to, "results", handle)];
    await link(from, target).catch(() => cp(from, target)).catch(() => {});
  }
  const facts: BackupFacts = { version, at: new Date().toISOString() };
  await writeFile(join(to, "backup.json"), JSON.stringify(facts));
}

/** Makes one file of such a copy, after a look whether it opens, and removes the copy. Runs in a process of its own. */
export async function packBackup(copy: string, file: string): Promise<void> {
  const draft = `${file}.tmp`;
  try {
    await requireReadable(join(copy, "data"));
    await run(systemProgram("tar"), ["-czf", draft, "-C", copy, "backup.json", "data", "results"], TAR);
    await chmod(draft, 0o600);
    await syncPath(draft);
    await renameSynced(draft, file);
  } finally {
    await rm(draft, { force: true });
    await rm(copy, { recursive: true, force: true });
  }
}

/** Reads every row of every table: a copy that cannot be read is no backup. */
async function requireReadable(dataDir: string): Promise<void> {
  const db = await openDatabase(dataDir, { durability: "process", isLeftAlone: true });
  try {
    const tables = await db.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'public'",
    );
    for (const { name } of tables) await db.query(`select count(t::text) from ${name} as t`, [], { isLong: true });
  } finally {
    await db.close();
  }
}

/** A backup that was unpacked: a data folder and a folder of stored results. */
export interface UnpackedBackup {
  readonly data: string;
  readonly results: string | undefined;
}

/** Refuses what is no backup, before anything is stopped or touched. */
export async function requireBackup(file: string): Promise<void> {
  const listed = await run(systemProgram("tar"), ["-tzf", file], { ...TAR, maxBuffer: 64 * 1024 * 1024 }).then(
    ({ stdout }) => stdout,
    () => "",
  );
  if (!/^\.?\/?(?:data\/)?PG_VERSION$/m.test(listed)) throw noBackup(file);
}

function noBackup(file: string, cause?: unknown): AgentCardsError {
  return new AgentCardsError("DB_UNUSABLE", `${file} is not a usable backup`, { cause, hint: "Nothing was changed." });
}

/** Unpacks a backup into a folder; one of an older version is the data folder alone. */
export async function unpackBackup(file: string, folder: string): Promise<UnpackedBackup> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    await run(systemProgram("tar"), ["-xzf", file, "-C", folder, "--no-same-owner"], TAR);
    const facts: unknown = await readFile(join(folder, "backup.json"), "utf8").then(JSON.parse, () => undefined);
    const data = isObject(facts) ? join(folder, "data") : folder;
    await stat(join(data, "PG_VERSION"));
    return { data, results: isObject(facts) ? join(folder, "results") : undefined };
  } catch (cause) {
    await rm(folder, { recursive: true, force: true });
    throw noBackup(file, cause);
  }
}

/** A backup in the folder that they are kept in. */
export interface KeptBackup {
  readonly path: string;
  readonly at: number;
}

const NAME = /^(?:daily|before)-.*\.tar\.gz$/;
const BEFORE = /^before-(.+)-schema-(\d+)\.tar\.gz$/;

/** A backup that was made before a newer version changed the database. */
export interface BackupBefore extends KeptBackup {
  /** The version that changed it. */
  readonly version: string;
  /** The schema that it has. */
  readonly schema: number;
}

/** The name of the backup that is made before a version changes the schema of a database. */
export function nameOfBefore(version: string, schema: number): string {
  return `before-${version}-schema-${schema}.tar.gz`;
}

/** The backups that were made before a version changed the database, the newest first. */
export async function backupsBefore(folder: string): Promise<BackupBefore[]> {
  return (await keptBackups(folder)).flatMap((backup) => {
    const [, version, schema] = BEFORE.exec(basename(backup.path)) ?? [];
    return version === undefined ? [] : [{ ...backup, version, schema: Number(schema) }];
  });
}

/** The backups that were made by themselves, the newest first. */
export async function keptBackups(folder: string): Promise<KeptBackup[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => NAME.test(name));
  const found = await Promise.all(names.map(async (name) => {
    const path = join(folder, name);
    return { path, at: (await stat(path)).mtimeMs };
  }));
  return found.sort((a, b) => b.at - a.at);
}

/** The name of the folder for a database that a restore took the place of. They sort by time. */
export function nameOfReplaced(at = new Date()): string {
  return `data-${at.toISOString().replace(/[:.]/g, "-")}`;
}

const REPLACED = /^data-\d{4}-\d{2}-\d{2}T/;
/** Each is as large as the database. */
const REPLACED_KEPT = 2;

/** Removes the oldest backups and replaced databases, and copies that a process left behind when it was killed. */
export async function pruneBackups(folder: string, keep: number): Promise<void> {
  for (const { path } of (await keptBackups(folder)).slice(keep)) await rm(path, { force: true });
  const names = await readdir(folder).catch(() => []);
  const replaced = names.filter((name) => REPLACED.test(name)).sort().slice(0, -REPLACED_KEPT);
  const left = names.filter((name) => /\.(?:copy|tmp)$/.test(name));
  for (const name of [...replaced, ...left]) await rm(join(folder, name), { recursive: true, force: true });
}
