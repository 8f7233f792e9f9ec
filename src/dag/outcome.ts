import { namedIn } from "./condition/conditions.ts";
import type { EndStatus } from "./event.ts";
import { kindOf } from "./kinds/all.ts";
import type { RunState, TaskState } from "./run_state.ts";
import type { Task } from "./task.ts";

const SHOWN_TASKS = 10;

type Ended = Pick<RunState, "plan" | "tasks">;

/** The tasks that no other task waits for. */
export function endsOf({ plan, tasks }: Ended): TaskState[] {
  const needed = new Set(plan.flatMap(({ depends_on }) => depends_on));
  return plan.filter(({ id }) => !needed.has(id)).flatMap(({ id }) => tasks.get(id) ?? []);
}

/** The relations between failed tasks of a run and the tasks that took up their failures. */
export interface Failures {
  /** True for a task that failed, and for one that was skipped because of a failure. */
  isFailure(id: string): boolean;
  /** True for a task whose failure another task has taken up: code, or a task whose condition names it. */
  isTakenUp(id: string): boolean;
  /** True for a task whose failure a task with a condition that names it was made for. */
  isExpected(id: string): boolean;
}

export function failuresOf({ plan, tasks }: Ended): Failures {
  const byId = new Map(plan.map((task) => [task.id, task]));
  const dependents = new Map<string, Task[]>();
  for (const task of plan) for (const id of task.depends_on) dependents.getOrInsertComputed(id, () => []).push(task);
  const known = new Map<string, boolean>();

  function isTakenUp(id: string): boolean {
    return dependents.get(id)?.some((task) =>
      tasks.get(task.id)?.status !== "skipped" && (kindOf(task).takesFailures || namedIn(task).has(id))
    ) ?? false;
  }

  function isExpected(id: string): boolean {
    return dependents.get(id)?.some((task) => tasks.get(task.id)?.status !== "skipped" && namedIn(task).has(id)) ??
      false;
  }

  /** Every task that it depends on is known already. */
  function judged(task: Task): boolean {
    const { status, because } = tasks.get(task.id)!;
    if (status === "success") return false;
    if (status !== "skipped" || because === undefined) return true;
    const named = namedIn(task);
    const isNeeded = (id: string) => !kindOf(task).takesFailures && !named.has(id);
    return task.depends_on.some((id) => known.get(id) && (isNeeded(id) || !isTakenUp(id)));
  }

  function isFailure(wanted: string): boolean {
    // Not by recursion: a chain can be as long as a run may have tasks.
    const line = [wanted];
    for (let id = line.at(-1); id !== undefined; id = line.at(-1)) {
      const task = byId.get(id)!;
      const unknown = known.has(id) ? [] : task.depends_on.filter((need) => byId.has(need) && !known.has(need));
      line.push(...unknown);
      if (unknown.length > 0) continue;
      if (!known.has(id)) known.set(id, judged(task));
      line.pop();
    }
    return known.get(wanted)!;
  }

  return { isFailure, isTakenUp, isExpected };
}

/**
 * The status of a run whose tasks have all ended: by its ends alone. An end that was skipped because a condition was false
 * counts as succeeded, unless the condition named a failure that no other task took up.
 */
export function outcomeOf(state: RunState): { status: Exclude<EndStatus, "aborted">; error?: string } {
  const ends = endsOf(state);
  const { isFailure } = failuresOf(state);
  const missed = ends.filter(({ id }) => isFailure(id));
  if (missed.length === 0) return { status: "completed" };
  const failures = listed(causesOf(state, missed));
  const skipped = listed(missed.filter(({ status }) => status === "skipped"));
  const error = [...failures ? [`${failures} failed`] : [], ...skipped ? [`${skipped} skipped`] : []].join("; ");
  return { status: missed.length < ends.length ? "partial" : "failed", error };
}

/** The failures that ends were missed for: their own, and those that made them be skipped. */
function causesOf({ plan, tasks }: RunState, missed: readonly TaskState[]): TaskState[] {
  const needs = new Map(plan.map(({ id, depends_on }) => [id, depends_on]));
  const seen = new Set(missed);
  // Grows while it is walked.
  for (const { id, status } of seen) {
    if (status !== "skipped") continue;
    for (const need of needs.get(id) ?? []) if (tasks.get(need)?.status !== "success") seen.add(tasks.get(need)!);
  }
  return [...tasks.values()].filter((task) => seen.has(task) && task.status !== "skipped");
}

function listed(tasks: readonly TaskState[]): string {
  const more = tasks.length > SHOWN_TASKS ? ` and ${tasks.length - SHOWN_TASKS} more` : "";
  return tasks.slice(0, SHOWN_TASKS).map(({ id }) => id).join(", ") + more;
}
