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
  if (!await file.tryLock(true)) {
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

/** The process that holds the lock, as it wrote itself down. */
export async function lockHolder(path: string): Promise<number | undefined> {
  const pid = parseInt(await Deno.readTextFile(path).catch(() => ""));
  return Number.isInteger(pid) && pid > 0 ? pid : undefined;
}
