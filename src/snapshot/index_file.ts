/** A file that git tracks, with the stat that its index remembers. Times are nanoseconds since 1970. */
export interface Tracked {
  readonly blob: string;
  readonly isSubmodule: boolean;
  /** Absent where the index does not tell how the file looked when it was last compared. */
  readonly stat?: {
    readonly size: number;
    readonly inode: number;
    readonly modified: number;
    readonly changed: number;
  };
}

const SIGNATURE = 0x44495243;
const STAGE = 0x3000;
const EXTENDED = 0x4000;
const TYPE = 0o170000;
const SUBMODULE = 0o160000;
/** Extensions by which entries stand elsewhere, or for whole folders. */
const INDIRECT = new Set(["link", "sdir"]);

/**
 * Reads an index as git's documentation of its format has it, versions 2 to 4; undefined where entries stand elsewhere too
 * (a split index) or for whole folders (a sparse one). Text that is no UTF-8 is given back in `unnamed`.
 */
export function parseIndex(
  bytes: Uint8Array,
  hashLength: number,
): { readonly files: Map<string, Tracked>; readonly unnamed: number } | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(4);
  if (view.getUint32(0) !== SIGNATURE || version < 2 || version > 4) return undefined;
  const files = new Map<string, Tracked>();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let unnamed = 0;
  let at = 12;
  let previous: Uint8Array = new Uint8Array();
  for (let left = view.getUint32(8); left > 0; left--) {
    const begin = at;
    const time = (offset: number) => view.getUint32(begin + offset) * 1e9 + view.getUint32(begin + offset + 4);
    const mode = view.getUint32(at + 24);
    const hash = at + 40;
    const flags = view.getUint16(hash + hashLength);
    at = hash + hashLength + ((flags & EXTENDED) !== 0 ? 4 : 2);
    let name: Uint8Array;
    if (version === 4) {
      let cut = bytes[at]! & 0x7f;
      while ((bytes[at++]! & 0x80) !== 0) cut = ((cut + 1) << 7) | (bytes[at]! & 0x7f);
      const end = bytes.indexOf(0, at);
      name = joined(previous.subarray(0, previous.length - cut), bytes.subarray(at, end));
      previous = name;
      at = end + 1;
    } else {
      const end = bytes.indexOf(0, at);
      name = bytes.subarray(at, end);
      // Padded with one to eight zeros to a multiple of eight.
      at = begin + ((end - begin + 8) & ~7);
    }
    if (at > bytes.length) throw new RangeError("the index is cut off");
    let path: string;
    try {
      path = decoder.decode(name);
    } catch {
      unnamed++;
      continue;
    }
    // Of a file in conflict there are several; none of them says how the file looks.
    const isMerged = (flags & STAGE) === 0;
    files.set(path, {
      blob: bytes.subarray(hash, hash + hashLength).toHex(),
      isSubmodule: (mode & TYPE) === SUBMODULE,
      ...isMerged && {
        stat: {
          changed: time(0),
          modified: time(8),
          inode: view.getUint32(begin + 20),
          size: view.getUint32(begin + 36),
        },
      },
    });
  }
  return hasIndirect(view, at, hashLength) ? undefined : { files, unnamed };
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

function hasIndirect(view: DataView, from: number, hashLength: number): boolean {
  const decoder = new TextDecoder();
  for (let at = from; at + 8 <= view.byteLength - hashLength;) {
    const name = decoder.decode(new Uint8Array(view.buffer, view.byteOffset + at, 4));
    if (INDIRECT.has(name)) return true;
    at += 8 + view.getUint32(at + 4);
  }
  return false;
}
