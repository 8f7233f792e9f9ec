import { AgentCardsError, inOneLine } from "../model/mod.ts";
import { addRows, readRows, type Row } from "./record_file.ts";
import type { Kept, NotRecorded, Recording } from "./recorder.ts";
import type { Taken } from "./take.ts";

/** The time in which something acted, with the files before and after it. */
export interface Span {
  readonly number: number;
  readonly task: string;
  /** The places of its two snapshots among the rows: spans overlap by these. */
  readonly from: number;
  readonly to: number | undefined;
  readonly before: string;
  readonly after: string | undefined;
  readonly older: readonly string[];
  readonly nested: readonly string[];
  readonly leftOut: number;
  readonly isLate: boolean;
  readonly isUndone: boolean;
}

/** The record of a run's files. */
export interface Spans {
  readonly root: string | undefined;
  readonly spans: readonly Span[];
}

/** Reads what is recorded for a run. */
export async function readSpans(path: string): Promise<Spans> {
  const spans = new Map<number, Span>();
  let root: string | undefined;
  for (const [at, row] of (await readRows(path)).entries()) {
    if (row.kind === "begun") root = row.root;
    else if (row.kind === "before") {
      const { span: number, task, manifest: before, nested, leftOut } = row;
      const open = { to: undefined, after: undefined, older: [], isLate: false, isUndone: false };
      spans.set(number, { number, task, from: at, before, nested, leftOut, ...open });
    } else if (row.kind === "after") {
      const { span, manifest: after, older, isLate = false } = row;
      const known = spans.get(span);
      if (known) spans.set(span, { ...known, to: at, after, older, isLate });
    } else {
      for (const number of row.spans) {
        const known = spans.get(number);
        if (known) spans.set(number, { ...known, isUndone: row.kind === "undone" });
      }
    }
  }
  return { root, spans: [...spans.values()] };
}

/** Records the files around the acting tasks of one run. */
export interface SpanRecorder {
  /** Records the files before a task acts; throws where that cannot be done, and gives the reason where it need not. */
  before(task: string): Promise<string | undefined>;
  /** Records them after it, once it has come to its end; the problem where that could not be done. */
  after(task: string): Promise<string | undefined>;
}

interface Open {
  readonly span: number;
}

/** Opens the record of a run; spans that an engine left open are closed with the files as they are now. */
export function createSpanRecorder(
  path: string,
  opening: () => Promise<Recording | NotRecorded>,
  { closesOthers = true } = {},
): SpanRecorder {
  const open = new Map<string, Promise<Open | string>>();
  let last: Promise<number> | undefined;
  /** Spans that have no end yet, and the files before the first of those that overlap. */
  let active = 0;
  let base: Taken | undefined;

  /** The number of the newest span, once those of an earlier engine are closed. */
  async function prepared(recording: Recording): Promise<number> {
    const { root, spans } = await readSpans(path);
    if (root === undefined) await addRows(path, [{ kind: "begun", root: recording.root }]);
    if (closesOthers) await closeLate(path, spans, recording);
    return spans.reduce((most, { number }) => Math.max(most, number), 0);
  }

  async function recorded(): Promise<{ recording: Recording; kept: Kept } | string> {
    const recording = await opening();
    if (!("take" in recording)) return recording.problem ?? "";
    const kept = await recording.take();
    if ("tooLarge" in kept) return `${recording.root}: ${kept.tooLarge}`;
    return { recording, kept };
  }

  async function begin(task: string): Promise<Open | string> {
    const found = await recorded();
    if (typeof found === "string") return found;
    const { recording, kept: { manifest, taken } } = found;
    const span = await (last = (last ?? prepared(recording)).then((number) => number + 1));
    const { nested, leftOut } = taken;
    if (active++ === 0) base = taken;
    try {
      await addRows(path, [{ kind: "before", span, task, at: Date.now(), manifest, nested, leftOut }]);
      return { span };
    } catch (error) {
      active--;
      throw error;
    }
  }

  return {
    async before(task) {
      // The calls of a task's code share the snapshot before the first of them.
      const beginning = open.getOrInsertComputed(task, () => begin(task));
      try {
        const begun = await beginning;
        if (typeof begun !== "string") return undefined;
        open.delete(task);
        return begun === "" ? undefined : `Its files were not recorded: ${begun}`;
      } catch (cause) {
        open.delete(task);
        last = undefined;
        throw new AgentCardsError(
          "SNAPSHOT_FAILED",
          `Nothing was sent: the files could not be recorded first, so that it could be undone: ${inOneLine(cause)}`,
          { cause, hint: 'The option "snapshot": false runs it without.' },
        );
      }
    },
    async after(task) {
      const beginning = open.get(task);
      if (!beginning) return undefined;
      open.delete(task);
      try {
        const begun = await beginning;
        if (typeof begun === "string") return undefined;
        try {
          const found = await recorded();
          if (typeof found === "string") return `It cannot be undone: ${found}`;
          const { manifest, taken } = found.kept;
          const older = olderThan(base!, taken);
          await addRows(path, [{ kind: "after", span: begun.span, at: Date.now(), manifest, older }]);
          return undefined;
        } finally {
          active--;
        }
      } catch (error) {
        return `It cannot be undone, the files after it could not be recorded: ${inOneLine(error)}`;
      }
    },
  };
}

/** Closes the spans of tasks whose engine stopped, with the files as they are now. */
export async function closeLate(path: string, spans: readonly Span[], recording: Recording): Promise<boolean> {
  const left = spans.filter(({ after }) => after === undefined);
  if (left.length === 0) return false;
  const kept = await recording.take();
  if ("tooLarge" in kept) return false;
  const { manifest } = kept;
  const rows = left.map(({ number }): Row => ({
    kind: "after",
    span: number,
    at: Date.now(),
    manifest,
    older: [],
    isLate: true,
  }));
  await addRows(path, rows);
  return true;
}

/**
 * New files that are older than the snapshot before: they were ignored then, or lay outside of the repository, so that
 * nothing is known of what they were. A file that only got another name is known by its inode. The snapshot is the one
 * before all tasks that overlap: during a later one, a task that goes on may have given a file another name.
 */
function olderThan(before: Taken, { files }: Taken): string[] {
  const found = [...files].filter(([path, { stat }]) =>
    !before.files.has(path) && (stat.born || stat.changed) < before.began
  );
  if (found.length === 0) return [];
  const inodes = new Set([...before.files.values()].map(({ stat }) => stat.inode));
  return found.filter(([, { stat }]) => !inodes.has(stat.inode)).map(([path]) => path);
}
