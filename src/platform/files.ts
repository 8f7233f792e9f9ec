import { chmod, copyFile, open, readdir, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Makes sure that what a file or folder holds survives a power cut. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } catch (error) {
    // Some file systems cannot sync a folder; they keep renames in order without it.
    if (!/EINVAL|EISDIR|EPERM|ENOTSUP/.test((error as { code?: string }).code ?? "")) throw error;
  } finally {
    await handle.close();
  }
}

const SYNCED_AT_ONCE = 32;

/** The same for a folder and everything below it. */
export async function syncTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries) if (entry.isDirectory()) await syncTree(join(folder, entry.name));
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name));
  for (let i = 0; i < files.length; i += SYNCED_AT_ONCE) {
    await Promise.all(files.slice(i, i + SYNCED_AT_ONCE).map(syncPath));
  }
  await syncPath(folder);
}

/** Renames and syncs both folders, so that a power cut leaves the old name or the new one. */
export async function renameSynced(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncPath(dirname(to));
  if (dirname(from) !== dirname(to)) await syncPath(dirname(from));
}

export interface ReplaceOptions {
  /** The mode of the file; without it, that of the file before, else 0600. */
  readonly mode?: number;
  /** False where the file need not survive a power cut. */
  readonly isSynced?: boolean;
}

/** Replaces a file in one step: readers see the old bytes or the new ones, also after a power cut. A link stays a link. */
export async function replaceFile(
  path: string,
  data: string | Uint8Array,
  { mode, isSynced = true }: ReplaceOptions = {},
): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const wanted = mode ?? (await stat(target).catch(() => undefined))?.mode ?? 0o600;
  const draft = `${target}.${crypto.randomUUID()}.tmp`;
  try {
    const handle = await open(draft, "wx", 0o600);
    try {
      await handle.writeFile(data);
      if (isSynced) await handle.sync();
    } finally {
      await handle.close();
    }
    if (Deno.build.os !== "windows") await chmod(draft, wanted & 0o7777);
    await (isSynced ? renameSynced : rename)(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

const DRAFT = /\.[0-9a-f-]{36}\.tmp$/;
/** A younger draft may be that of another process at work. */
const DRAFT_AGE_MS = 3_600_000;

/** Removes the drafts that processes left in a folder when they were killed. */
export async function removeDrafts(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((name) => DRAFT.test(name))) {
    const path = join(folder, name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > DRAFT_AGE_MS) await rm(path, { force: true });
  }
}

const LAST_GOOD = ".last";

/** Writes JSON with a checksum; the file of before is kept as the last good one. */
export async function writeChecked(path: string, body: string): Promise<void> {
  const isGood = await readBody(path).then(() => true, () => false);
  if (isGood) await copyFile(path, path + LAST_GOOD).catch(() => {});
  await replaceFile(path, `{"sha256":"${await digest(body)}","value":${body}}\n`, { mode: 0o600 });
}

/** The value of such a file, or of its last good copy; undefined where there is neither. */
export async function readChecked(path: string): Promise<unknown> {
  return await readWhole(path).catch(() => readWhole(path + LAST_GOOD)).catch(() => undefined);
}

async function readWhole(path: string): Promise<unknown> {
  return JSON.parse(await readBody(path));
}

async function readBody(path: string): Promise<string> {
  const text = await readFile(path, "utf8");
  const [, sum, body] = /^\{"sha256":"([0-9a-f]{64})","value":([^]*)\}\n$/.exec(text) ?? [];
  if (body === undefined || await digest(body) !== sum) throw new Error(`${path} is damaged`);
  return body;
}

/** Off the main thread, which the hash of many megabytes would stall. */
async function digest(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(hash).toHex();
}
