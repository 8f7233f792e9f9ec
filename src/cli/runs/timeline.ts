import type { Decision, RunEvent } from "../../dag/mod.ts";
import { oneLine } from "../../model/mod.ts";
import type { RunDetails, TaskReport } from "../../workflow/mod.ts";
import { type RunSpans, type Span, spansOf } from "./spans.ts";
import { fit, pad, widthOf, wrap } from "../screen/screen.ts";
import { MARKS, type Paint, paintStatus } from "./status_glyph.ts";
import { duration } from "../screen/terminal.ts";

export interface TimelineView {
  readonly columns: number;
  readonly paint: Paint;
  readonly now: number;
}

const MOST_TASKS = 60;
const LEAST_BAR = 10;
const MOST_BAR = 60;
const MOST_ERROR = 600;

/** One line per task in the order they began, each with a bar on a common axis. */
export function timeline(run: Pick<RunDetails, "status" | "reports" | "events">, view: TimelineView): string[] {
  const { columns, paint } = view;
  const { events } = run;
  const isGoingOn = run.status === "running";
  const now = isGoingOn ? view.now : events.at(-1)?.at ?? view.now;
  // What nobody runs any more was cut off.
  const reports = isGoingOn
    ? run.reports
    : run.reports.map((task) => task.status === "running" ? { ...task, status: "in_doubt" as const } : task);
  const axis = spansOf(events, now);
  const shown = chosen(reports, axis);
  const cells = shown.map((task) => ({ task, what: oneLine(task.what, 200), time: timeText(task, now) }));
  const timeWidth = Math.max(0, ...cells.map(({ time }) => widthOf(time)));
  const room = columns - timeWidth - LEAST_BAR - 10;
  const idWidth = Math.min(Math.max(0, ...cells.map(({ task }) => widthOf(task.id))), Math.floor(room * 0.45));
  const whatWidth = Math.min(Math.max(0, ...cells.map(({ what }) => widthOf(what))), room - idWidth);
  const barWidth = Math.min(MOST_BAR, columns - idWidth - whatWidth - timeWidth - 10);
  const lines = cells.flatMap(({ task, what, time }) => {
    const isDrawn = task.status !== "skipped" || axis.spans.has(task.id);
    const drawn = bar(axis.spans.get(task.id) ?? [], { length: axis.length, width: barWidth });
    const status = `${paintStatus(paint, task.status, MARKS[task.status])} ${pad(time, timeWidth)}`;
    const row = `${pad(task.id, idWidth)}  ${paint("dim", pad(what, whatWidth))}  ${status}  `;
    if (!isDrawn) return [row + fit(oneLine(task.error ?? ""), barWidth + 2)];
    return [
      `${row}|${drawn}|`,
      ...notesOf(task, axis).flatMap((note) => wrap(note, columns - 5).map((line) => `    ${line}`)),
    ];
  });
  const rest = reports.length - shown.length;
  if (rest === 0) return lines;
  return [...lines, fit(`… and ${rest.toLocaleString("en-US")} more tasks; --json has them all`, columns)];
}

/** Of very many tasks those that went wrong and those that took longest, in the order they began. */
function chosen(reports: readonly TaskReport[], { spans }: RunSpans): readonly TaskReport[] {
  const weight = ({ status, ms }: TaskReport) =>
    status === "running" || status === "error" || status === "in_doubt" ? Number.MAX_VALUE : ms;
  const some = reports.length <= MOST_TASKS
    ? reports
    : reports.toSorted((a, b) => weight(b) - weight(a)).slice(0, MOST_TASKS);
  const began = ({ id }: TaskReport) => spans.get(id)?.[0]?.from ?? Number.MAX_VALUE;
  const place = new Map(reports.map(({ id }, i) => [id, i]));
  return some.toSorted((a, b) => began(a) - began(b) || place.get(a.id)! - place.get(b.id)!);
}

function timeText({ status, ms, began, attempt }: TaskReport, now: number): string {
  const again = attempt > 1 ? ` ×${attempt}` : "";
  if (status === "running") return duration(Math.max(0, now - (began ?? now))) + again;
  const hasTime = status === "success" || status === "error" || status === "failed_safe";
  return (hasTime ? duration(ms) : status.replace("_", " ")) + again;
}

const CELLS: Readonly<Record<Span["kind"], string>> = { done: "█", failed: "░", running: "▒" };

function bar(spans: readonly Span[], { length, width }: { length: number; width: number }): string {
  const cells = new Array<string>(width).fill(" ");
  for (const { from, to, kind } of spans) {
    const first = Math.min(width - 1, Math.floor(from / length * width));
    const end = Math.max(first + 1, Math.round(to / length * width));
    cells.fill(CELLS[kind], first, end);
  }
  return cells.join("");
}

const SHOWN_TRIES = 3;

function notesOf({ id, status, error }: TaskReport, { retried }: RunSpans): string[] {
  const tries = retried.get(id) ?? [];
  return [
    ...tries.slice(-SHOWN_TRIES).map((one) => {
      const why = one.error === error ? "" : `: ${oneLine(one.error, MOST_ERROR)}`;
      return `attempt ${one.attempt} ${one.isPoll ? "took" : "failed after"} ${duration(one.ms)}${why}`;
    }),
    ...error === null || status === "success" || (status === "waiting" && tries.length > 0)
      ? []
      : [oneLine(error, MOST_ERROR)],
  ];
}

const MOST_DECISIONS = 20;

/** The pauses of a run and what was decided about them, each with its time. */
export function decisions(events: readonly RunEvent[], { columns }: Pick<TimelineView, "columns">): string[] {
  const turns = events.filter(({ kind }) => kind === "paused" || kind === "resumed" || kind === "command");
  const all = turns.flatMap((event, i) => {
    // A decision says already that the run went on.
    const words = event.kind === "resumed" && turns[i - 1]?.kind === "command" ? undefined : wordsFor(event);
    return words === undefined ? [] : [fit(`${clockTime(event.at)}  ${words}`, columns)];
  });
  if (all.length <= MOST_DECISIONS) return all;
  return [
    fit(`… ${all.length - MOST_DECISIONS} earlier ones; --json has them all`, columns),
    ...all.slice(-MOST_DECISIONS),
  ];
}

function wordsFor(event: RunEvent): string | undefined {
  switch (event.kind) {
    case "paused":
      return `paused: ${oneLine(event.pending.why, 300)}`;
    case "resumed":
      return `went on${event.why === "after a restart" ? ` ${event.why}` : ""}`;
    case "command": {
      const { decision, by } = event;
      const why = event.note === undefined ? "" : `: ${oneLine(event.note, 300)}`;
      return `${by === "human" ? "a human" : "the agent"} ${decisionWords(decision)}${why}`;
    }
  }
}

function decisionWords(decision: Decision): string {
  switch (decision.action) {
    case "inject":
      return `added ${decision.tasks} tasks`;
    case "retry":
      return `ran again: ${decision.reset.join(", ")}`;
    case "replace":
      return `replaced ${decision.tasks.join(", ")}`;
    case "remove":
      return `removed ${decision.ids.join(", ")}`;
    case "resolve":
      return `resolved ${decision.task}: ${decision.outcome}`;
    case "approve":
      return `approved ${decision.task}`;
    case "reject":
      return `rejected ${decision.task}`;
    case "abort":
      return "aborted the run";
    case "continue":
      return "continued";
  }
}

/** A time of day, here. */
export function clockTime(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}
