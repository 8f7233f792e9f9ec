import { join } from "node:path";
import { hashOfHead, type Head, HEADS, isSigned, publicKeyOf, readHeads } from "./heads.ts";
import { type AuditRow, type Link, ORIGIN, readLine } from "./row.ts";
import { linesOf, type Segment, segmentsOf, tailOf } from "./segments.ts";

/** Heads are signed at each row whose number is a multiple of this. */
export const HEAD_EVERY = 1_000;

/** One place where the audit is not as it was written. */
export interface Finding {
  /** The number of the row, or of the row that should stand there. */
  readonly seq: number;
  readonly problem: string;
}

/** What a check of an audit folder found. */
export interface Verification {
  readonly rows: number;
  readonly first: number;
  readonly last: number;
  readonly heads: number;
  /** The number of rows behind the last head: nothing proves that there were no more. */
  readonly unsigned: number;
  readonly findings: readonly Finding[];
}

const MOST_FINDINGS = 100;

/**
 * Checks every row against the row before it, every head against its signature and its row. `heads` are those kept
 * elsewhere: only they prove anything against a person who can rewrite this folder and its key.
 */
export function verifyAudit(folder: string, elsewhere: readonly Head[] = []): Verification {
  const findings: Finding[] = [];
  const find = (seq: number, problem: string) => {
    if (findings.length < MOST_FINDINGS) findings.push({ seq, problem });
  };
  // Rows may be added meanwhile: a head is asked for only of rows that were there before the heads were read.
  const present = lastOf(folder);
  const { heads, broken } = readHeads(join(folder, HEADS));
  if (broken > 0) find(0, `${broken} lines of the file of heads are damaged`);
  checkHeads(folder, heads, find);
  const expected = Map.groupBy([...heads, ...elsewhere], ({ seq }) => seq);
  const newest = Math.max(0, ...expected.keys());
  const walk = walkRows(segmentsOf(folder), { find, signed: newest }, (link) => {
    for (const head of expected.get(link.seq) ?? []) {
      if (head.hash !== link.hash) find(link.seq, "differs from the row that was signed");
    }
  });
  const signed = new Set(heads.map(({ seq }) => seq));
  for (
    let seq = Math.ceil(walk.first / HEAD_EVERY) * HEAD_EVERY;
    seq > 0 && seq <= Math.min(present, walk.last);
    seq += HEAD_EVERY
  ) {
    if (!signed.has(seq)) find(seq, "its head is missing");
  }
  if (newest > walk.last) find(walk.last + 1, `the rows up to ${newest} are missing: a head was signed for them`);
  return { ...walk, heads: heads.length, unsigned: Math.max(0, walk.last - newest), findings };
}

function lastOf(folder: string): number {
  try {
    return tailOf(folder).last.seq;
  } catch {
    // A damaged row is told by the walk.
    return Infinity;
  }
}

/** The keys of a folder's heads, and their order. */
function checkHeads(folder: string, heads: readonly Head[], find: (seq: number, problem: string) => void): void {
  const key = publicKeyOf(folder);
  if (!key && heads.length > 0) find(0, "the public key is missing, so that no head can be checked");
  let previous = ORIGIN.hash;
  for (const head of heads) {
    if (key && !isSigned(head, key)) find(head.seq, "its head was not signed by the key of this folder");
    if (head.prev !== previous) find(head.seq, "a head before its own is missing or changed");
    previous = hashOfHead(head);
  }
}

/** A row that says which rows were removed because of their age: all up to this place. */
interface Pruned extends Link {}

function walkRows(
  segments: readonly Segment[],
  { find, signed }: { find: (seq: number, problem: string) => void; signed: number },
  onRow: (link: Link) => void,
): { rows: number; first: number; last: number } {
  let previous: Link | undefined;
  let first: (Link & { readonly prev: string }) | undefined;
  let rows = 0;
  const pruned: Pruned[] = [];
  for (const [index, segment] of segments.entries()) {
    for (const { line, isUnfinished } of linesOf(segment.path)) {
      const place = isUnfinished ? undefined : readLine(line);
      const here: number = (previous?.seq ?? segment.first - 1) + 1;
      if (!place) {
        // The rows behind it are compared with what they say themselves.
        find(here, isUnfinished ? "is cut off" : "was changed");
        previous = previous && { seq: here, hash: "" };
        continue;
      }
      // Only a signed row excuses missing ones.
      if (place.seq <= signed && line.includes('"kind":"pruned"')) pruned.push(prunedUpTo(line));
      rows++;
      if (!previous) {
        first ??= place;
        if (place.seq !== segment.first) find(place.seq, `stands in the file that begins with row ${segment.first}`);
      } else if (place.seq !== previous.seq + 1) {
        find(previous.seq + 1, place.seq > previous.seq ? `is missing, up to ${place.seq - 1}` : "is out of order");
      } else if (place.prev !== previous.hash && previous.hash !== "") {
        find(place.seq, "does not follow from the row before it");
      }
      previous = { seq: place.seq, hash: place.hash };
      onRow(previous);
    }
    const next = segments[index + 1];
    if (next && previous && next.first !== previous.seq + 1) {
      find(previous.seq + 1, `is missing, up to ${next.first - 1}`);
      // Told once; the rows of the next file are compared with each other.
      previous = undefined;
    }
  }
  if (first && !isBeginning(first, pruned)) {
    find(first.seq - 1, "is missing, and all before it: no row says that they were removed");
  }
  return { rows, first: first?.seq ?? 0, last: previous?.seq ?? 0 };
}

function isBeginning({ seq, prev }: Link & { readonly prev: string }, pruned: readonly Pruned[]): boolean {
  if (seq === 1) return prev === ORIGIN.hash;
  return pruned.some((place) => place.seq === seq - 1 && place.hash === prev);
}

function prunedUpTo(line: string): Pruned {
  const { through, through_hash } = JSON.parse(line) as AuditRow;
  return { seq: Number(through), hash: String(through_hash) };
}
