import { dlopen } from "./process.ts";
import { fs } from "./fs.ts";
import { system } from "./system.ts";

/** A file, a link or a folder as the file system knows it. Times are nanoseconds since 1970. */
export interface ExactStat {
  readonly kind: "file" | "link" | "folder" | "other";
  /** The permission bits. */
  readonly mode: number;
  readonly size: number;
  readonly inode: number;
  readonly modified: number;
  readonly changed: number;
  /** The time of its creation; 0 where the file system keeps none. */
  readonly born: number;
}

export interface ExactStats {
  /** The stat of a path itself, of no link's target; undefined where nothing is there. Throws where that cannot be told. */
  look(path: string): ExactStat | undefined;
  /** False where the times are too coarse to tell whether a file was changed. */
  readonly isExact: boolean;
}

const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  linux: ["libc.so.6", `libc.musl-${system.arch}.so.1`],
  darwin: ["libSystem.B.dylib"],
};
const KINDS: Readonly<Record<number, ExactStat["kind"]>> = { 0o100000: "file", 0o120000: "link", 0o040000: "folder" };
const LONGEST_PATH = 16_384;
const NS = 1e9;

let found: ExactStats | undefined;

/** Stats with times to the nanosecond, which the runtime's own do not have: their `ctime` is in seconds. */
export function exactStats(): ExactStats {
  return found ??= native() ?? { look: coarse, isExact: false };
}

type Read = (path: Uint8Array<ArrayBuffer>) => ExactStat | undefined;

/** By the C library; undefined where it does not say the same as the runtime about a path that both know. */
function native(): ExactStats | undefined {
  const read = system.os === "linux" ? byStatx() : system.os === "darwin" ? byLstat() : undefined;
  if (!read) return undefined;
  const encoder = new TextEncoder();
  const buffer = new Uint8Array(LONGEST_PATH);
  const look = (path: string): ExactStat | undefined => {
    const { read: taken, written } = encoder.encodeInto(path, buffer);
    // Nothing can lie at a path that is too long, or that holds a NUL.
    if (taken < path.length || written >= LONGEST_PATH || path.includes("\0")) return undefined;
    buffer[written] = 0;
    return read(buffer) ?? coarse(path);
  };
  return agrees(look) ? { look, isExact: true } : undefined;
}

/** True if a reading of memory by fixed places gives what the runtime gives. */
function agrees(look: ExactStats["look"]): boolean {
  const path = system.execPath();
  const [exact, known] = [look(path), coarse(path)];
  const isSame = (key: "kind" | "mode" | "size" | "inode") => exact?.[key] === known?.[key];
  return exact !== undefined && known !== undefined && isSame("kind") && isSame("mode") && isSame("size") &&
    isSame("inode") && Math.abs(exact.modified - known.modified) < NS && Math.abs(exact.changed - known.changed) < NS;
}

const AT_FDCWD = -100;
const AT_SYMLINK_NOFOLLOW = 0x100;
const STATX_BASIC_STATS = 0x7ff;
const STATX_BTIME = 0x800;

function byStatx(): Read | undefined {
  const library = open({ statx: { parameters: ["i32", "buffer", "i32", "u32", "buffer"], result: "i32" } });
  if (!library) return undefined;
  const { statx } = library.symbols;
  const bytes = new Uint8Array(256);
  const view = new DataView(bytes.buffer);
  const time = (at: number) => Number(view.getBigInt64(at, true)) * NS + view.getUint32(at + 8, true);
  return (path) => {
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, bytes) !== 0) return undefined;
    const mode = view.getUint16(28, true);
    return {
      kind: KINDS[mode & 0o170000] ?? "other",
      mode: mode & 0o7777,
      size: Number(view.getBigUint64(40, true)),
      inode: Number(view.getBigUint64(32, true)),
      modified: time(112),
      changed: time(96),
      born: (view.getUint32(0, true) & STATX_BTIME) !== 0 ? time(80) : 0,
    };
  };
}

function byLstat(): Read | undefined {
  const name = system.arch === "x86_64" ? "lstat$INODE64" : "lstat";
  const library = open({ lstat: { name, parameters: ["buffer", "buffer"], result: "i32" } });
  if (!library) return undefined;
  const { lstat } = library.symbols;
  const bytes = new Uint8Array(256);
  const view = new DataView(bytes.buffer);
  const time = (at: number) => Number(view.getBigInt64(at, true)) * NS + Number(view.getBigInt64(at + 8, true));
  return (path) => {
    if (lstat(path, bytes) !== 0) return undefined;
    const mode = view.getUint16(4, true);
    return {
      kind: KINDS[mode & 0o170000] ?? "other",
      mode: mode & 0o7777,
      size: Number(view.getBigInt64(96, true)),
      inode: Number(view.getBigUint64(8, true)),
      modified: time(48),
      changed: time(64),
      born: time(80),
    };
  };
}

function open<const S extends Deno.ForeignLibraryInterface>(symbols: S): Deno.DynamicLibrary<S> | undefined {
  for (const name of LIBRARIES[system.os] ?? []) {
    try {
      return dlopen(name, symbols);
    } catch {
      // Another C library.
    }
  }
}

function coarse(path: string): ExactStat | undefined {
  try {
    const info = fs.lstatSync(path);
    const ns = (time: Date | null) => (time?.getTime() ?? 0) * 1e6;
    return {
      kind: info.isFile ? "file" : info.isSymlink ? "link" : info.isDirectory ? "folder" : "other",
      mode: (info.mode ?? 0) & 0o7777,
      size: info.size,
      inode: info.ino ?? 0,
      modified: ns(info.mtime),
      changed: ns(info.ctime),
      born: ns(info.birthtime),
    };
  } catch (error) {
    if (fs.isNotFound(error) || fs.isNotADirectory(error)) return undefined;
    throw error;
  }
}
