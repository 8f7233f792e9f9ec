import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Link, ORIGIN, readLine } from "./row.ts";

/** One file of rows. */
export interface Segment {
  readonly path: string;
  /** The number of its first row. */
  readonly first: number;
}

const NAME = /^rows-(\d{12})\.jsonl$/;

/** The path of the segment that begins with a row. */
export function segmentPath(folder: string, first: number): string {
  return join(folder, `rows-${String(first).padStart(12, "0")}.jsonl`);
}

/** The segments of a folder, oldest first. */
export function segmentsOf(folder: string): Segment[] {
  return namesIn(folder)
    .flatMap((name) => {
      const [, first] = NAME.exec(name) ?? [];
      return first === undefined ? [] : [{ path: join(folder, name), first: Number(first) }];
    })
    .sort((a, b) => a.first - b.first);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return [];
    throw error;
  }
}

const CHUNK = 256 * 1024;

/** The lines of a file, without their ends; the last one is `unfinished` where its end is missing. */
export function* linesOf(path: string): Generator<{ readonly line: string; readonly isUnfinished: boolean }> {
  const file = openSync(path, "r");
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(CHUNK);
  let rest = "";
  try {
    for (let count; (count = readSync(file, buffer, 0, CHUNK, null)) > 0;) {
      const text = rest + decoder.decode(buffer.subarray(0, count), { stream: true });
      let from = 0;
      for (let end; (end = text.indexOf("\n", from)) >= 0; from = end + 1) {
        yield { line: text.slice(from, end), isUnfinished: false };
      }
      rest = text.slice(from);
    }
    rest += decoder.decode();
    if (rest) yield { line: rest, isUnfinished: true };
  } finally {
    closeSync(file);
  }
}

/** Rows are bounded: the last of a file lies within so many bytes. */
const TAIL = 512 * 1024;

/** The place of the last whole row of a folder, and the bytes behind it that a power cut left. */
export function tailOf(folder: string): { readonly last: Link; readonly segment?: Segment; readonly torn: number } {
  for (const segment of segmentsOf(folder).reverse()) {
    const { last, torn, isEmpty } = tailOfFile(segment.path);
    // A file without a whole row: the row before it is the last one of the file before.
    if (last || !isEmpty) return { last: last ?? damaged(segment.path), segment, torn };
  }
  return { last: ORIGIN, torn: 0 };
}

/** The same of one file. */
export function tailOfFile(path: string): { readonly last?: Link; readonly torn: number; readonly isEmpty: boolean } {
  const text = readTail(path);
  const end = text.lastIndexOf("\n") + 1;
  const torn = new TextEncoder().encode(text.slice(end)).length;
  const place = readLine(text.slice(text.lastIndexOf("\n", end - 2) + 1, Math.max(0, end - 1)));
  return { torn, isEmpty: end === 0, ...place && { last: { seq: place.seq, hash: place.hash } } };
}

function damaged(path: string): never {
  throw new Error(`the last row of ${path} is damaged`);
}

function readTail(path: string): string {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const bytes = new Uint8Array(Math.min(size, TAIL));
    readSync(file, bytes, 0, bytes.length, size - bytes.length);
    return new TextDecoder().decode(bytes);
  } finally {
    closeSync(file);
  }
}

/** The time of a file's last change. */
export function changedAt(path: string): number {
  return statSync(path).mtimeMs;
}
