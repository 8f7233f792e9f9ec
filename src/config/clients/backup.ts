import { deepFreeze } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import { join } from "node:path";
import { z } from "../../../deps.ts";
import type { Home } from "../home.ts";
import { replaceFile } from "../write.ts";
import type { ClientId } from "./client.ts";
import type { FileEdit } from "./rewrite.ts";

const item = z.object({ keys: z.array(z.string()), name: z.string(), entry: z.unknown() });
const manifestSchema = z.object({
  /** One run of `init` may change several files. */
  run: z.string(),
  client: z.string(),
  path: z.string(),
  mode: z.number().nullable(),
  before: z.string(),
  /** Absent while the change is under way. */
  after: z.string().optional(),
  edit: z.object({
    format: z.enum(["json", "toml"]),
    remove: z.array(item),
    add: z.array(item),
    allow: z.array(z.string()).optional(),
  }),
  /** There was no such file. */
  isNew: z.boolean().optional(),
  /** The folder Claude Code's local servers belong to. */
  cwd: z.string(),
  undone: z.string().optional(),
});

/** What was done to one file. It quotes entries as they were written, credentials included: mode 0600. */
export type Manifest = z.infer<typeof manifestSchema>;

/** A file's exact bytes before the change, with what is needed to take the change back. */
export interface Backup {
  readonly dir: string;
  readonly manifest: Manifest;
}

/** What shall happen to one client's file. */
export interface Change {
  readonly client: ClientId;
  readonly path: string;
  readonly edit: FileEdit;
  /** There is no such file yet. */
  readonly isNew?: boolean;
}

/** Copies a file's bytes into the home before anything happens to it. */
export async function backUp(change: Change, home: Home, { run, cwd }: { run: string; cwd: string }): Promise<Backup> {
  const { isNew = false } = change;
  const bytes = await bytesOf(change.path, isNew);
  const { mode } = isNew ? { mode: null } : await fs.stat(change.path);
  const hash = (await hashOf(new TextEncoder().encode(change.path))).slice(0, 8);
  const dir = join(home.backups, `${run}-${change.client}-${hash}`);
  await fs.mkdir(dir, { recursive: true, mode: 0o700 });
  await replaceFile(originalPath({ dir }), bytes, 0o600);
  const edit = structuredClone(change.edit) as Manifest["edit"];
  const manifest: Manifest = {
    run,
    client: change.client,
    path: change.path,
    mode: mode === null ? null : mode & 0o7777,
    before: await hashOf(bytes),
    edit,
    cwd,
    ...isNew && { isNew },
  };
  return await record({ dir, manifest }, {});
}

/** A file's bytes; none of a file that is to be made. */
export async function bytesOf(path: string, isNew = false): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await fs.readFile(path);
  } catch (error) {
    if (isNew && fs.isNotFound(error)) return new Uint8Array();
    throw error;
  }
}

/** The backup with some facts added, on disk too. */
export async function record(backup: Backup, facts: Partial<Manifest>): Promise<Backup> {
  const manifest = { ...backup.manifest, ...facts };
  const text = JSON.stringify(manifest, null, 2) + "\n";
  await replaceFile(join(backup.dir, "manifest.json"), new TextEncoder().encode(text), 0o600);
  return deepFreeze({ dir: backup.dir, manifest });
}

/** Backups whose change has not been taken back, newest first. A damaged one is named instead of used. */
export async function openBackups(home: Home): Promise<{ backups: Backup[]; damaged: string[] }> {
  const backups: Backup[] = [];
  const damaged: string[] = [];
  for (const dir of await folders(home.backups)) {
    try {
      const manifest = manifestSchema.parse(JSON.parse(await fs.readTextFile(join(dir, "manifest.json"))));
      if (!manifest.undone) backups.push({ dir, manifest });
    } catch (error) {
      // Other backups than ours (of the database, say) have no manifest.
      if (!(fs.isNotFound(error)) && !(fs.isNotADirectory(error))) damaged.push(dir);
    }
  }
  backups.sort((a, b) => (a.manifest.run < b.manifest.run ? 1 : a.manifest.run > b.manifest.run ? -1 : 0));
  return { backups, damaged };
}

async function folders(path: string): Promise<string[]> {
  try {
    const entries = await Array.fromAsync(fs.readDir(path));
    return entries.filter(({ isDirectory }) => isDirectory).map(({ name }) => join(path, name));
  } catch (error) {
    if (fs.isNotFound(error)) return [];
    throw error;
  }
}

/** Where the bytes are that the file had. */
export function originalPath({ dir }: Pick<Backup, "dir">): string {
  return join(dir, "original");
}

/** SHA-256 of bytes, in hex. */
export async function hashOf(bytes: Uint8Array): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes))).toHex();
}

/** A name for a run that sorts by time. */
export function runId(now = new Date()): string {
  return now.toISOString().replace(/[-:]/g, "").replace(".", "-");
}
