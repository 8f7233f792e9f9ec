import { AgentCardsError, messageOf } from "../model/start.ts";
import { type FileInfo, fs, type FsFile, type OpenOptions, system } from "../platform/start.ts";

/** Proof that this process alone may use what it locked. */
export interface ProcessLock extends AsyncDisposable {
  release(): Promise<void>;
}

/** The process that holds a lock, as it wrote itself down. */
export interface LockHolder {
  readonly pid: number;
  /** The socket it listens on; an engine of an older version does not tell. */
  readonly socket?: string;
  /** True if it serves no other process. */
  readonly isAlone: boolean;
}

/** Tries to take the OS lock of an open file: exclusive, or shared. */
export type TryLock = (file: FsFile, exclusive: boolean) => Promise<boolean>;

export interface LockOptions {
  /** The socket that the holder will listen on, for those who read the lock file; none when it serves nobody else. */
  readonly socket?: string;
  readonly tryLock?: TryLock;
}

/** The second line of a lock file whose holder listens nowhere. */
const ALONE = "-";

const flock: TryLock = (file, exclusive) => file.tryLock(exclusive);

/** `lockHolder` locks for a moment to look: a lock counts as taken when it is taken this often in a row. */
const TRIES = 8;
const TRY_EVERY_MS = 15;

/**
 * Takes the exclusive OS lock of a home, or returns null when another process has it. PGlite keeps no lock of its own:
 * two processes on one directory lose each other's rows without a word. The kernel frees the lock when its holder dies.
 */
export async function takeLock(path: string, options: LockOptions = {}): Promise<ProcessLock | null> {
  const { socket = ALONE, tryLock = flock } = options;
  for (;;) {
    const file = await open(path, { create: true, read: true, write: true, mode: 0o600 });
    try {
      if (!await take(file, path, tryLock)) {
        file.close();
        return null;
      }
      if (leadsTo(path, file)) {
        // Written before it is cut to length: whoever reads meanwhile finds the first two lines whole.
        const text = new TextEncoder().encode(`${system.pid}\n${socket}\n`);
        await file.write(text);
        await file.truncate(text.length);
        return held(file);
      }
    } catch (error) {
      file.close();
      throw error;
    }
    // It was removed or replaced between opening and locking: a lock on a file that nobody else finds is worth nothing.
    file.close();
  }
}

export interface FolderLockOptions {
  /** The time to wait for a holder that is about to leave. */
  readonly waitMs?: number;
  readonly tryLock?: TryLock;
}

/**
 * Takes the exclusive OS lock of a folder itself, or returns null when another process has it. No file in it is needed,
 * so that nobody can undo the lock by removing one. The lock follows a folder that is renamed.
 */
export async function lockFolder(path: string, options: FolderLockOptions = {}): Promise<ProcessLock | null> {
  const { waitMs = 0, tryLock = flock } = options;
  const deadline = performance.now() + waitMs;
  for (;;) {
    const folder = await open(path, { read: true });
    try {
      const isTaken = await take(folder, path, tryLock);
      if (isTaken && leadsTo(path, folder)) return held(folder);
      if (!isTaken && performance.now() >= deadline) {
        folder.close();
        return null;
      }
    } catch (error) {
      folder.close();
      throw error;
    }
    folder.close();
    await pause();
  }
}

/**
 * The process that holds the lock. One that died left its number behind, and by now that may be a stranger's: what is
 * written there counts only while the lock is held.
 */
export async function findHolder(path: string, tryLock: TryLock = flock): Promise<LockHolder | undefined> {
  const file = await fs.open(path).catch(() => undefined);
  if (!file) return undefined;
  try {
    if (await tryLock(file, false).catch((cause) => refuse(path, cause))) return undefined;
    return readHolder(path);
  } finally {
    file.close();
  }
}

/** The number of the process that holds the lock. */
export async function lockHolder(path: string): Promise<number | undefined> {
  return (await findHolder(path))?.pid;
}

/** The process that wrote itself down last, whether it still holds the lock or not. */
export function readHolder(path: string): LockHolder | undefined {
  try {
    const [first = "", socket] = fs.readTextFileSync(path).split("\n");
    const pid = parseInt(first);
    if (!Number.isInteger(pid) || pid <= 0) return undefined;
    const isAlone = socket === ALONE;
    return { pid, isAlone, ...socket && !isAlone && { socket } };
  } catch {
    return undefined;
  }
}

/**
 * Whether a process of this machine has the lock file open; undefined where that cannot be seen. The number in a file
 * may be that of a process in a container or on another machine, and here a stranger's.
 */
export async function hasOpen(pid: number, path: string): Promise<boolean | undefined> {
  if (system.os !== "linux") return undefined;
  try {
    const wanted = identityOf(path);
    const files = await Array.fromAsync(fs.readDir(`/proc/${pid}/fd`));
    return files.some(({ name }) => identityOf(`/proc/${pid}/fd/${name}`) === wanted);
  } catch (error) {
    return fs.isNotFound(error) ? false : undefined;
  }
}

/** The file or folder that a path leads to, as the kernel knows it; undefined where there is none. */
export function identityOf(path: string): string | undefined {
  try {
    return identity(fs.statSync(path));
  } catch (error) {
    if (fs.isNotFound(error) || fs.isNotADirectory(error)) return undefined;
    throw error;
  }
}

const identity = ({ dev, ino }: FileInfo) => `${dev}:${ino}`;

function leadsTo(path: string, file: FsFile): boolean {
  return identityOf(path) === identity(file.statSync());
}

async function open(path: string, options: OpenOptions): Promise<FsFile> {
  try {
    return await fs.open(path, options);
  } catch (cause) {
    throw new AgentCardsError("HOME_UNUSABLE", `Cannot open ${path}: ${messageOf(cause)}`, { cause });
  }
}

async function take(file: FsFile, path: string, tryLock: TryLock): Promise<boolean> {
  for (let i = 1;; i++) {
    if (await tryLock(file, true).catch((cause) => refuse(path, cause))) return true;
    if (i === TRIES) return false;
    await pause();
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, TRY_EVERY_MS));

function held(file: FsFile): ProcessLock {
  let isHeld = true;
  const release = async () => {
    if (!isHeld) return;
    isHeld = false;
    await file.unlock().catch(() => {});
    file.close();
  };
  return { release, [Symbol.asyncDispose]: release };
}

/** A file system without locks, or one that locks no folder. */
const UNSUPPORTED = /ENOLCK|EOPNOTSUPP|ENOTSUP|ENOSYS|EBADF|no locks available|not supported|not implemented|bad file/i;

function refuse(path: string, cause: unknown): never {
  const said = `${(cause as { code?: unknown })?.code ?? ""} ${messageOf(cause)}`;
  const folder = path.slice(0, path.lastIndexOf("/")) || "/";
  throw new AgentCardsError("HOME_UNUSABLE", `Cannot lock ${path}: ${messageOf(cause)}`, {
    cause,
    hint: UNSUPPORTED.test(said)
      ? `The file system of ${folder} has no locks, as some network file systems: set AGENTCARDS_HOME to a folder on a local disk.`
      : `Without a lock two engines could use ${folder} at once: repair its disk, or set AGENTCARDS_HOME to a folder on another one.`,
  });
}
