import * as fs from "node:fs";
import { NodeFS } from "@electric-sql/pglite/nodefs";

/** A file of Emscripten's file system over Node's: `nfd` is its descriptor; a folder has none. */
interface Stream {
  readonly nfd?: number;
  readonly node: unknown;
  readonly path?: string;
}

type Operation = (...given: never[]) => unknown;

interface Emscripten {
  /** Runs one statement. */
  _PostgresMainLoopOnce: Operation;
  readonly FS: {
    readonly filesystems: {
      readonly NODEFS: {
        readonly stream_ops: { fsync?(stream: Stream): number } & Record<string, Operation>;
        readonly node_ops: Record<string, Operation>;
        realPath(node: unknown): string;
      };
    };
  };
}

/** The disk does not take a write. PostgreSQL would try again for ever, at full speed. */
export class DiskError extends Error {
  override readonly name = "DiskError";
}

/**
 * Node's files with an `fsync`: Emscripten's own file system has none, so that nothing which PostgreSQL syncs would
 * reach the disk. With it PostgreSQL keeps its own promises, the order of a checkpoint included.
 */
export class SyncedFS extends NodeFS {
  override async init(...given: Parameters<NodeFS["init"]>): ReturnType<NodeFS["init"]> {
    const { emscriptenOpts } = await super.init(...given);
    const before = (emscriptenOpts.preRun ?? []) as unknown[];
    const preRun = [...before, addSync, addDiskErrors, addEnd] as NonNullable<typeof emscriptenOpts.preRun>;
    return { emscriptenOpts: { ...emscriptenOpts, preRun } };
  }
}

function addSync({ FS: { filesystems: { NODEFS } } }: Emscripten): void {
  NODEFS.stream_ops.fsync = ({ nfd, node }) => {
    if (nfd !== undefined) fs.fdatasyncSync(nfd);
    else syncFolder(NODEFS.realPath(node));
    return 0;
  };
}

/** The errors of a disk, by Emscripten's numbers and by Node's names. */
const DISK_ERRORS: ReadonlyMap<number | string, string> = new Map([
  ...named(19, "EDQUOT", "the quota is used up"),
  ...named(22, "EFBIG", "the file would be too large"),
  ...named(29, "EIO", "input/output error"),
  ...named(51, "ENOSPC", "no space left on the disk"),
  ...named(69, "EROFS", "the disk is read-only"),
]);

function named(number: number, name: string, why: string): readonly (readonly [number | string, string])[] {
  return [[number, why], [name, why]];
}

/**
 * An exception has to leave PostgreSQL: told of an error it would clean up, write again, fail again, without an end. It
 * leaves with locks held, so that any further call would wait for ever: there is none.
 */
function addDiskErrors(module: Emscripten): void {
  const { stream_ops, node_ops } = module.FS.filesystems.NODEFS;
  const leaving = (operation: Operation): Operation => (...given) => {
    try {
      return operation(...given);
    } catch (error) {
      const { errno, code } = error as { errno?: number; code?: string };
      const why = DISK_ERRORS.get(code ?? "") ?? DISK_ERRORS.get(errno ?? 0);
      if (why === undefined) throw error;
      throw end(module, new DiskError(`the disk does not take what the database writes: ${why}`));
    }
  };
  for (const name of ["write", "fsync"]) stream_ops[name] = leaving(stream_ops[name]!);
  for (const name of ["mknod", "setattr", "rename"]) node_ops[name] = leaving(node_ops[name]!);
}

/** The status of the exception by which PostgreSQL leaves a statement that failed. */
const STATEMENT_FAILED = 100;

/** PGlite calls PostgreSQL again after any exception, also one that ended it, without an end. */
function addEnd(module: Emscripten): void {
  const run = module._PostgresMainLoopOnce;
  module._PostgresMainLoopOnce = (...given) => {
    try {
      return run(...given);
    } catch (error) {
      throw (error as { status?: unknown }).status === STATEMENT_FAILED ? error : end(module, error as Error);
    }
  };
}

/** Makes every function of the program throw. */
function end(module: Emscripten, error: Error): Error {
  const functions = module as unknown as Record<string, unknown>;
  for (const name of Object.keys(functions)) {
    if (!/^_|^stack/.test(name) || typeof functions[name] !== "function") continue;
    functions[name] = () => {
      throw error;
    };
  }
  return error;
}

function syncFolder(path: string): void {
  const descriptor = fs.openSync(path, "r");
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}
