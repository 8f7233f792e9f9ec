import { type Entries, type Entry, isSameEntry, type Manifests } from "./manifest.ts";
import type { Span } from "./spans.ts";

/** The change of one path; undefined where there was, or is, no file. */
export interface Change {
  readonly path: string;
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
}

/** Spans that overlap, whose changes cannot be told apart, from the first snapshot to the last one. */
export interface Group {
  readonly spans: readonly Span[];
  readonly changes: readonly Change[];
}

/** The changes between two lists of files. */
export function changesBetween(before: Entries, after: Entries): Change[] {
  const changes: Change[] = [];
  for (const [path, entry] of after) {
    const old = before.get(path);
    if (!isSameEntry(old, entry)) changes.push({ path, before: old, after: entry });
  }
  for (const [path, entry] of before) if (!after.has(path)) changes.push({ path, before: entry, after: undefined });
  return changes;
}

/** The spans in groups of those that overlap, the oldest first. Spans without an end are in none. */
export async function groupsOf(spans: readonly Span[], manifests: Manifests): Promise<Group[]> {
  const closed = spans.filter((span) => span.to !== undefined).toSorted((a, b) => a.from - b.from);
  const groups: Span[][] = [];
  let end = -1;
  for (const span of closed) {
    if (span.from > end) groups.push([]);
    groups.at(-1)!.push(span);
    end = Math.max(end, span.to!);
  }
  const found: Group[] = [];
  for (const members of groups) {
    const last = members.reduce((one, other) => other.to! > one.to! ? other : one);
    const older = new Set(last.older);
    const changes = members[0]!.before === last.after
      ? []
      : changesBetween(await manifests.get(members[0]!.before), await manifests.get(last.after!));
    // A file that lay ignored before the run is never the run's own, whatever the run did to it.
    found.push({ spans: members, changes: changes.filter(({ path, before }) => before || !older.has(path)) });
  }
  return found;
}
