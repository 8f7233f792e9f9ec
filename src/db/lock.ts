import { AgentCardsError, messageOf } from "../model/errors.ts";

/** Proof that this process alone may open the data directory. */
export interface ProcessLock extends AsyncDisposable {
  release(): Promise<void>;
}

/**
 * Takes the exclusive OS lock of a home, or returns null when another process has it. PGlite keeps no lock of its own:
 * two processes on one directory lose each other's rows without a word. The kernel frees the lock when its holder dies.
 */
export async function takeLock(path: string): Promise<ProcessLock | null> {
  let file: Deno.FsFile;
  try {
    file = await Deno.open(path, { create: true, read: true, write: true, mode: 0o600 });
  } catch (cause) {
    throw new AgentCardsError("HOME_UNUSABLE", `Cannot open ${path}: ${messageOf(cause)}`, { cause });
  }
  if (!await file.tryLock(true) && !await onceMore(file)) {
    file.close();
    return null;
  }
  await file.truncate();
  await file.write(new TextEncoder().encode(`${Deno.pid}\n`));
  let held = true;
  const release = async () => {
    if (!held) return;
    held = false;
    await file.unlock().catch(() => {});
    file.close();
  };
  return { release, [Symbol.asyncDispose]: release };
}

/** `lockHolder` may just have been looking. */
async function onceMore(file: Deno.FsFile): Promise<boolean> {
  await new Promise((resolve) => setTimeout(resolve, 20));
  return await file.tryLock(true);
}

/**
 * The process that holds the lock, as it wrote itself down. One that died left its number behind, and by now that may
 * be a stranger's: a number counts only while the lock is held.
 */
export async function lockHolder(path: string): Promise<number | undefined> {
  const file = await Deno.open(path).catch(() => undefined);
  if (!file) return undefined;
  try {
    if (await file.tryLock(false)) return undefined;
    const pid = parseInt(await Deno.readTextFile(path));
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } finally {
    file.close();
  }
}

/** How long the Worker that held a folder's lock may take to end. */
const FREED_WITHIN_MS = 5_000;

/**
 * Takes the exclusive lock on a data folder itself, which no removed file can undo. It is held until the thread that
 * took it ends.
 */
export async function lockFolder(path: string): Promise<void> {
  const folder = await Deno.open(path);
  const deadline = performance.now() + FREED_WITHIN_MS;
  while (!await folder.tryLock(true)) {
    if (performance.now() > deadline) {
      folder.close();
      throw new AgentCardsError("DB_UNUSABLE", `Cannot open the database in ${path}: another process has it open`, {
        hint: "Run `agentcards engine restart`.",
        data: { isFinal: true },
      });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
