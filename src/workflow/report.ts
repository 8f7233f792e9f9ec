import {
  kindOf,
  ranMs,
  type RunEvent,
  type RunFilter,
  type RunRow,
  type RunState,
  type RunStatus,
  type TaskStatus,
} from "../dag/mod.ts";
import { isObject } from "../model/mod.ts";
import { pendingText, type PendingView, type RunStats } from "./answer.ts";
import type { Workflows } from "./port.ts";
import { isResting, restingState } from "./resting.ts";

/** One task as a person sees it. */
export interface TaskReport {
  readonly id: string;
  /** `server:tool`, or `code`. */
  readonly what: string;
  readonly depends_on: readonly string[];
  readonly status: TaskStatus | "waiting" | "running";
  readonly attempt: number;
  /** The time of its start, in milliseconds since 1970, and its duration. */
  readonly began: number | null;
  readonly ms: number;
  readonly bytes: number;
  readonly error: string | null;
}

/** One run as lists show it. */
export interface RunReport {
  readonly id: string;
  readonly name: string;
  readonly status: RunStatus;
  readonly cwd: string;
  /** The engine that runs it or ran it last, and its machine, where several share the database. */
  readonly engine: string | null;
  readonly machine: string | null;
  readonly created: number;
  readonly updated: number;
  readonly tasks: number;
  readonly succeeded: number;
  /** Milliseconds it really ran. */
  readonly ms: number;
  readonly error: string | null;
  /** The pause: reason, for whom, why, task and call. */
  readonly pending: PendingView | null;
}

/** One run, whole. */
export interface RunDetails extends RunReport {
  readonly reports: readonly TaskReport[];
  readonly events: readonly RunEvent[];
  readonly stats: RunStats;
}

/** Runs as lists show them, the newest first; of one that is running, how it stands now. */
export async function reportsOf({ journal, state }: Workflows, filter: RunFilter): Promise<RunReport[]> {
  const rows = await journal.list(filter);
  return await Promise.all(
    rows.map(async (row) =>
      reportOf(row, row.status === "running" ? state(row.id) ?? (await journal.open(row.id)).state : undefined)
    ),
  );
}

export function reportOf(row: RunRow, state?: RunState): RunReport {
  const { id, name, cwd, engine, host: machine, created, updated, summary } = row;
  const isWaiting = isResting(row);
  const pending = state && (isWaiting ? restingState(state) : state).pending;
  const all = state ? [...state.tasks.values()] : [];
  return {
    id,
    name,
    status: isWaiting ? "paused" : row.status,
    cwd,
    engine,
    machine,
    created,
    updated,
    tasks: state ? all.length : Number(summary.tasks ?? 0),
    succeeded: state ? all.filter(({ status }) => status === "success").length : Number(summary.succeeded ?? 0),
    ms: state ? Math.round(ranMs(state, isWaiting ? state.last : Date.now())) : Number(summary.ms ?? 0),
    error: state?.error ?? (typeof summary.error === "string" ? summary.error : null),
    pending: pending
      ? pendingText(id, pending) as unknown as PendingView
      : isWaiting
      ? { reason: "waiting" }
      : isObject(summary.pending)
      ? summary.pending as unknown as PendingView
      : null,
  };
}

export function tasksOf({ plan, tasks }: RunState): TaskReport[] {
  return plan.map((task): TaskReport => {
    const { status, attempt, began, ms, bytes, error } = tasks.get(task.id)!;
    return {
      id: task.id,
      what: kindOf(task).describe(task),
      depends_on: task.depends_on,
      status,
      attempt,
      began: began ?? null,
      ms,
      bytes,
      error: error ?? null,
    };
  });
}
