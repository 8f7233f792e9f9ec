import type { RunProgress } from "../../control/mod.ts";
import type { RunEvent } from "../../dag/mod.ts";
import { oneLine } from "../../model/mod.ts";
import type { TaskReport } from "../../workflow/mod.ts";
import { fit, pad, widthOf } from "../screen/screen.ts";
import { MARKS, type Paint, paintStatus, type Status } from "./status_glyph.ts";
import { duration } from "../screen/terminal.ts";

type Task = Pick<TaskReport, "id" | "what" | "depends_on" | "status" | "attempt" | "began" | "ms" | "error">;

/** A task with its depth below the first task that it waits for. */
export interface TreeTask extends Task {
  readonly depth: number;
}

/** The tasks of a run while somebody watches. */
export interface TaskTree {
  see(progress: RunProgress): void;
  /** The run's id, once it is known. */
  id(): string | undefined;
  /** Each below the first task that it waits for. */
  tasks(): TreeTask[];
}

export function createTaskTree(): TaskTree {
  const tasks = new Map<string, Task>();
  let run: string | undefined;
  let order: readonly { id: string; depth: number }[] | undefined;

  function add(more: readonly Task[]): void {
    for (const task of more) tasks.set(task.id, task);
    order = undefined;
  }

  return {
    see(progress) {
      if ("event" in progress) {
        const { event } = progress;
        if (event.kind === "planned") add(event.tasks.map(plannedTask));
        const task = "task" in event ? tasks.get(event.task) : undefined;
        if (task) tasks.set(task.id, { ...task, ...changeOf(event) });
      } else {
        run = progress.id;
        tasks.clear();
        add(progress.reports);
      }
    },
    id: () => run,
    tasks: () => (order ??= inTreeOrder([...tasks.values()])).map(({ id, depth }) => ({ ...tasks.get(id)!, depth })),
  };
}

function plannedTask(task: Extract<RunEvent, { kind: "planned" }>["tasks"][number]): Task {
  const { id, depends_on } = task;
  const what = task.type === "tool" ? task.tool : "code";
  return { id, what, depends_on, status: "waiting", attempt: 0, began: null, ms: 0, error: null };
}

function changeOf(event: RunEvent): Partial<Task> {
  switch (event.kind) {
    case "started":
      return { status: "running", attempt: event.attempt, began: event.at, error: null };
    case "done":
      return { status: "success", ms: event.ms, error: null };
    case "failed":
      return { status: event.status === "again" ? "waiting" : event.status, ms: event.ms, error: event.error };
    case "skipped":
    case "in_doubt":
      return { status: event.kind, error: event.why };
    default:
      return {};
  }
}

/** Not by recursion: a chain can be as long as a run may have tasks. */
function inTreeOrder(tasks: readonly Task[]): { id: string; depth: number }[] {
  const below = Map.groupBy(tasks, ({ depends_on }) => depends_on[0]);
  const open = (below.get(undefined) ?? []).map(({ id }) => ({ id, depth: 0 })).reverse();
  const order: { id: string; depth: number }[] = [];
  for (let next = open.pop(); next; next = open.pop()) {
    order.push(next);
    const depth = next.depth + 1;
    open.push(...(below.get(next.id) ?? []).map(({ id }) => ({ id, depth })).reverse());
  }
  return order;
}

export interface TreeView {
  readonly columns: number;
  /** The most lines. */
  readonly rows: number;
  /** Counts the drawings, for what moves. */
  readonly frame: number;
  readonly now: number;
  readonly paint: Paint;
}

const SPINNER = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];
/** A tenth of the columns, so that names keep their room. */
const COLUMNS_PER_LEVEL = 10;
const TIME_COLUMNS = 10;
/** What goes on and what went wrong is shown first, then what is next. */
const URGENCY: Readonly<Record<Status, number>> = {
  running: 0,
  error: 1,
  in_doubt: 1,
  failed_safe: 2,
  waiting: 3,
  success: 4,
  skipped: 5,
};

/** The tree as lines that fit the terminal. */
export function treeLines(tasks: readonly TreeTask[], view: TreeView): string[] {
  const shown = mostUrgent(tasks, view.rows);
  const columns = view.columns - 1;
  const top = Math.min(...shown.map(({ depth }) => depth));
  const deepest = Math.floor(columns / COLUMNS_PER_LEVEL);
  const indents = shown.map(({ depth }) => "  ".repeat(Math.min(depth - top, deepest)));
  const names = shown.map(({ id }, i) => `${indents[i]}  ${id}`);
  const nameWidth = Math.min(Math.max(0, ...names.map(widthOf)), Math.floor(columns * 0.45));
  const whats = shown.map(({ what }) => oneLine(what, 200));
  const room = columns - nameWidth - TIME_COLUMNS - 4;
  const whatWidth = Math.max(0, Math.min(Math.max(0, ...whats.map(widthOf)), room));
  const lines = shown.map((task, i) => {
    const indent = indents[i]!;
    const mark = task.status === "running" ? SPINNER[view.frame % SPINNER.length]! : MARKS[task.status];
    const name = pad(task.id, nameWidth - widthOf(indent) - 2);
    const time = pad(timeText(task, view.now), TIME_COLUMNS);
    const note = fit(
      oneLine(task.status === "success" ? "" : task.error ?? "", 300),
      columns - nameWidth - whatWidth - TIME_COLUMNS - 6,
    );
    const plain = `${name}  ${view.paint("dim", pad(whats[i]!, whatWidth))}  ${time}`;
    const end = note ? `  ${paintStatus(view.paint, task.status, note)}` : "";
    return `${indent}${paintStatus(view.paint, task.status, mark)} ${plain}${end}`.trimEnd();
  });
  return shown.length < tasks.length ? [...lines, fit(moreText(tasks, shown), columns)] : lines;
}

function mostUrgent(tasks: readonly TreeTask[], rows: number): readonly TreeTask[] {
  if (tasks.length <= rows) return tasks;
  const ranked = tasks.toSorted((a, b) => URGENCY[a.status] - URGENCY[b.status]).slice(0, Math.max(1, rows - 1));
  const chosen = new Set(ranked);
  return tasks.filter((task) => chosen.has(task));
}

function moreText(tasks: readonly TreeTask[], shown: readonly TreeTask[]): string {
  const isShown = new Set(shown);
  const rest = Map.groupBy(tasks.filter((task) => !isShown.has(task)), ({ status }) => status);
  const counts = [...rest].sort(([a], [b]) => URGENCY[a] - URGENCY[b])
    .map(([status, some]) => `${some.length.toLocaleString("en-US")} ${MARKS[status]}`);
  return `… and ${(tasks.length - shown.length).toLocaleString("en-US")} more: ${counts.join(", ")}`;
}

function timeText({ status, began, ms, attempt }: Task, now: number): string {
  const again = attempt > 1 ? ` ×${attempt}` : "";
  if (status === "running") return duration(Math.max(0, now - (began ?? now))) + again;
  return status === "waiting" || status === "skipped" || status === "in_doubt" ? again.trim() : duration(ms) + again;
}
