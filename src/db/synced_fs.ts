import * as fs from "node:fs";
import { NodeFS } from "@electric-sql/pglite/nodefs";

/** A file of Emscripten's file system over Node's: `nfd` is its descriptor; a folder has none. */
interface Stream {
  readonly nfd?: number;
  readonly node: unknown;
  readonly path?: string;
}

interface Emscripten {
  readonly FS: {
    readonly filesystems: {
      readonly NODEFS: {
        readonly stream_ops: {
          fsync?(stream: Stream): number;
          write(stream: Stream, ...given: unknown[]): number;
        };
        realPath(node: unknown): string;
      };
    };
  };
}

/** The disk does not take a write to a table. PostgreSQL would try again for ever, at full speed. */
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
    const preRun = [...before, addSync, addDiskErrors] as NonNullable<typeof emscriptenOpts.preRun>;
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

/** Emscripten's numbers of the errors of a disk: its own size, I/O, room, quota, read-only. */
const DISK_ERRORS: ReadonlyMap<number, string> = new Map([
  [19, "the quota is used up"],
  [22, "the file would be too large"],
  [29, "input/output error"],
  [51, "no space left on the disk"],
  [69, "the disk is read-only"],
]);

/** PostgreSQL tells of a log that cannot be written by itself; of a table, an exception has to leave it. */
function addDiskErrors({ FS: { filesystems: { NODEFS: { stream_ops } } } }: Emscripten): void {
  const write = stream_ops.write;
  stream_ops.write = (stream, ...given) => {
    try {
      return write(stream, ...given);
    } catch (error) {
      const why = DISK_ERRORS.get((error as { errno?: number }).errno ?? 0);
      if (why === undefined || /\/pg_wal\//.test(stream.path ?? "")) throw error;
      throw new DiskError(`the disk does not take what the database writes: ${why}`);
    }
  };
}

function syncFolder(path: string): void {
  const descriptor = fs.openSync(path, "r");
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}
