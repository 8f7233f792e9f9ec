import { AgentCardsError, isObject, messageOf } from "../model/mod.ts";
import { readChecked, writeChecked } from "../platform/mod.ts";
import { fs } from "../platform/start.ts";
import { dirname } from "node:path";
import { type Group, groupsOf } from "./changes.ts";
import { patchOf } from "./diff.ts";
import { sizesOf } from "./objects.ts";
import { isHalfWay, makeSteps, removeStage } from "./put_back.ts";
import { addRows } from "./record_file.ts";
import type { Recording } from "./recorder.ts";
import { closeLate, readSpans, type Span } from "./spans.ts";
import { checkedSteps, type Conflict, type SeenStep, type Step, stepsOf, type UndoPlan } from "./undo_plan.ts";

/** The result of an undo, or of a look at it. */
export interface UndoReport {
  readonly root: string;
  /** `planned`: only looked at. `refused`: nothing was done, for the conflicts. `nothing`: there is nothing to be undone. */
  readonly state: "planned" | "undone" | "taken_back" | "refused" | "nothing";
  /** The tasks whose changes are taken back. */
  readonly tasks: readonly string[];
  readonly files: readonly { readonly path: string; readonly change: "create" | "rewrite" | "remove" }[];
  readonly conflicts: readonly Conflict[];
  /** The change of the files as a patch. */
  readonly patch: string;
  readonly notes: readonly string[];
}

export interface UndoRequest {
  /** Only this task, and those that ran at the same time. */
  readonly task?: string | undefined;
  /** Only looks. */
  readonly isPreview?: boolean | undefined;
  /** Puts back what an undo took away. */
  readonly takesBack?: boolean | undefined;
}

/** An undo that was begun: with it an interrupted one is finished or taken back. */
interface Begun {
  readonly undo: string;
  readonly spans: readonly number[];
  readonly tasks: readonly string[];
  readonly steps: readonly Step[];
  readonly kind: "undone" | "taken_back";
  readonly isDone: boolean;
}

interface Files {
  /** The record of the run's files. */
  readonly record: string;
  /** The undo of it that was begun last. */
  readonly undo: string;
}

const SHOWN_NAMES = 10;

/** Takes back what a run, or one task of it, changed in its repository: all files or none. */
export async function undoSpans(recording: Recording, files: Files, request: UndoRequest): Promise<UndoReport> {
  const { spans: found } = await readSpans(files.record);
  const isLate = await closeLate(files.record, found, recording);
  const { spans } = isLate ? await readSpans(files.record) : { spans: found };
  return await recording.alone(async () => {
    const begun = await readBegun(files.undo);
    if (request.takesBack) return await takeBack(recording, files, { begun, request });
    if (begun && !begun.isDone) return await goOn(recording, files, { begun, request });
    const open = spans.filter(({ isUndone }) => !isUndone);
    if (request.task !== undefined) requireTask(request.task, spans);
    const groups = await groupsOf(open, recording.manifests);
    const isChosen = ({ spans }: Group) =>
      request.task === undefined || spans.some(({ task }) => task === request.task);
    const chosen = groups.filter(isChosen).flatMap(({ spans }) => spans);
    const plan = await checkedSteps(recording.repository, stepsOf(groups, isChosen), { isKept: !request.isPreview });
    const tasks = [...new Set(chosen.map(({ task }) => task))];
    const kind = "undone";
    const next = { undo: newId(), spans: chosen.map(({ number }) => number), tasks, steps: plan.steps, kind } as const;
    return await carryOut(recording, files, { next, plan, request, notes: notesOf(chosen, request.task) });
  });
}

interface Going {
  readonly begun: Begun | undefined;
  readonly request: UndoRequest;
}

/** Finishes what was interrupted. */
async function goOn(recording: Recording, files: Files, { begun, request }: Going): Promise<UndoReport> {
  const plan = await checkedSteps(recording.repository, { steps: begun!.steps, conflicts: [] }, {
    isGoingOn: true,
    isKept: !request.isPreview,
  });
  const notes = ["An undo of it was interrupted: this finishes it; --take-back takes it back instead."];
  return await carryOut(recording, files, { next: begun!, plan, request, notes });
}

/** Puts back what the last undo took away, whether it came to its end or not. */
async function takeBack(recording: Recording, files: Files, { begun, request }: Going): Promise<UndoReport> {
  if (!begun || begun.kind === "taken_back" && begun.isDone) {
    throw new AgentCardsError("RUN_STATE", "There is no undo of it that could be taken back");
  }
  const steps = begun.kind === "taken_back"
    ? begun.steps
    : begun.steps.map(({ path, from, to }) => ({ path, from: to, to: from }));
  const plan = await checkedSteps(recording.repository, { steps, conflicts: [] }, {
    isGoingOn: !begun.isDone,
    isKept: !request.isPreview,
  });
  const next = { ...begun, steps, kind: "taken_back", undo: begun.isDone ? newId() : begun.undo } as const;
  return await carryOut(recording, files, { next, plan, request, notes: [] });
}

interface Carrying {
  readonly next: Omit<Begun, "isDone">;
  readonly plan: UndoPlan<SeenStep>;
  readonly request: UndoRequest;
  readonly notes: readonly string[];
}

async function carryOut(
  recording: Recording,
  files: Files,
  { next, plan, request, notes }: Carrying,
): Promise<UndoReport> {
  const { repository, root } = recording;
  const { steps } = plan;
  const conflicts = [...plan.conflicts, ...await missingAmong(recording, steps)];
  const report = {
    root,
    tasks: next.tasks,
    files: steps.map(({ path, from, to }) => ({ path, change: changeOf(from, to) })),
    conflicts,
    patch: conflicts.length > 0 ? "" : await patchOf(repository.place, steps),
    notes,
  };
  if (conflicts.length > 0) return { ...report, state: "refused" };
  if (request.isPreview) return { ...report, state: steps.length > 0 ? "planned" : "nothing" };
  if (next.spans.length === 0) return { ...report, state: "nothing" };
  const last = await readBegun(files.undo);
  await writeBegun(files.undo, { ...next, isDone: false });
  try {
    if (steps.length > 0) await makeSteps(repository, next.undo, steps);
    else await removeStage(root, next.undo);
  } catch (error) {
    // Everything is as it was: there is nothing to be finished.
    if (!isHalfWay(error)) await (last ? writeBegun(files.undo, last) : fs.remove(files.undo));
    throw error;
  }
  const kind = next.kind === "undone" ? "undone" : "redone";
  await addRows(files.record, [{ kind, spans: next.spans, at: Date.now() }]);
  await writeBegun(files.undo, { ...next, isDone: true });
  return { ...report, state: next.kind };
}

/** The files whose content of before is gone, because the user removed it from the repository or from the home. */
async function missingAmong({ repository }: Recording, steps: readonly Step[]): Promise<Conflict[]> {
  const blobs = steps.flatMap(({ to }) => to?.kind === "file" ? [to.blob] : []);
  const sizes = await sizesOf(repository.place, [...new Set(blobs)]);
  return steps.filter(({ to }) => to?.kind === "file" && !sizes.has(to.blob))
    .map(({ path }) => ({ path, why: "its content of before is not there any more" }));
}

function changeOf(from: Step["from"], to: Step["to"]): "create" | "rewrite" | "remove" {
  return !from ? "create" : !to ? "remove" : "rewrite";
}

function requireTask(task: string, spans: readonly Span[]): void {
  if (spans.some((span) => span.task === task)) return;
  const known = [...new Set(spans.map((span) => span.task))].slice(0, SHOWN_NAMES).join(", ");
  throw new AgentCardsError("RUN_STATE", `No change of files is recorded for the task ${task}`, {
    hint: known ? `Recorded: ${known}.` : "No task of this run was recorded.",
  });
}

function notesOf(spans: readonly Span[], asked: string | undefined): string[] {
  const also = [...new Set(spans.map(({ task }) => task))].filter((task) => asked !== undefined && task !== asked);
  const late = [...new Set(spans.filter(({ isLate }) => isLate).map(({ task }) => task))];
  const older = [...new Set(spans.flatMap((span) => span.older))];
  const nested = [...new Set(spans.flatMap((span) => span.nested))];
  const names = (all: readonly string[]) =>
    all.slice(0, SHOWN_NAMES).join(", ") + (all.length > SHOWN_NAMES ? ` and ${all.length - SHOWN_NAMES} more` : "");
  return [
    ...also.length > 0 ? [`Undone with it, because they ran at the same time: ${names(also)}.`] : [],
    ...late.length > 0
      ? [`The end of ${names(late)} was not seen: every change until the next look counts as made by it.`]
      : [],
    ...older.length > 0 ? [`Left as they are, since nothing is known of them before: ${names(older)}.`] : [],
    ...nested.length > 0 ? [`Not recorded, repositories of their own: ${names(nested)}.`] : [],
  ];
}

function newId(): string {
  return crypto.getRandomValues(new Uint8Array(6)).toHex();
}

async function readBegun(path: string): Promise<Begun | undefined> {
  if (!await fs.lstat(path).then(() => true, () => false)) return undefined;
  const found = await readChecked(path);
  if (isObject(found) && Array.isArray(found.steps)) return found as unknown as Begun;
  throw new AgentCardsError("SNAPSHOT_FAILED", `${path} is damaged: nobody knows if an undo was interrupted`, {
    hint: "Look at the files of the repository; without this file the next undo begins anew.",
  });
}

async function writeBegun(path: string, begun: Begun): Promise<void> {
  await fs.mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch((error) => {
    throw new AgentCardsError("SNAPSHOT_FAILED", `Nothing was undone: ${messageOf(error)}`, { cause: error });
  });
  await writeChecked(path, JSON.stringify(begun));
}
