import {
  APPROVAL_MS,
  type DecidedBy,
  failuresOf,
  type Happening,
  kindOf,
  notAllowed,
  type Plan,
  planAgain,
  referencesIn,
  type RunState,
  type Task,
  type TaskState,
} from "../dag/mod.ts";
import { AgentCardsError, isObject, type Json, oneLine } from "../model/mod.ts";

export type Action =
  | "status"
  | "continue"
  | "abort"
  | "approve"
  | "reject"
  | "inject"
  | "retry"
  | "replace"
  | "remove"
  | "resolve";

/** The actions that go on with a run that failed, timed out or was aborted. */
const REPAIRS: ReadonlySet<Action> = new Set(["retry", "replace", "remove", "inject", "resolve"]);

export function isRepair(action: Action): boolean {
  return REPAIRS.has(action);
}

/** True for actions that change tasks: a run that is running comes to rest first. */
export function changesTasks(action: Action): boolean {
  return action === "retry" || action === "replace" || action === "remove";
}

/** A request to do something with a run. */
export interface Request {
  readonly workflow_id: string;
  readonly action: Action;
  readonly tasks?: unknown[] | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly task?: string | undefined;
  readonly outcome?: "done" | "retry" | "skip" | undefined;
  readonly value?: Json | undefined;
  /** The reason of the decision, in words. */
  readonly note?: string | undefined;
  /** The hash of the call that was shown to the human who approves. */
  readonly hash?: string;
  /** The key of the client's request that brings it. */
  readonly key?: string | undefined;
  /** True if it waits for the run's next answer although it only asks for its status. */
  readonly isAttached?: boolean;
}

/** The rows of a decision about a run that rests; an error when the decision does not fit the pause. */
export function happeningsOf(request: Request, by: DecidedBy, about: About): Happening[] {
  const { key, note } = request;
  const more = { ...key !== undefined && { request: key }, ...note !== undefined && { note } };
  return decided(request, by, about).map((happening) =>
    happening.kind === "command" ? { ...happening, ...more } : happening
  );
}

interface About {
  readonly state: RunState;
  readonly plan?: Plan | undefined;
}

function decided(request: Request, by: DecidedBy, { state, plan }: About): Happening[] {
  const { action } = request;
  const reason = state.pending?.reason ?? "waiting";
  switch (action) {
    case "continue":
      if (reason === "in_doubt") throw unfit(request, "a call may have happened; resolve it first");
      return [{ kind: "command", by, decision: { action } }];
    case "inject":
      return [
        { kind: "command", by, decision: { action, tasks: plan!.tasks.length - state.plan.length } },
        { kind: "planned", tasks: plan!.tasks.map(({ task }) => task).filter(({ id }) => !state.tasks.has(id)) },
      ];
    case "retry": {
      const reset = resettable(request, state, wantedTasks(request, state));
      return [{ kind: "command", by, decision: { action, reset } }];
    }
    case "replace": {
      const given = plan!.tasks.map(({ task }) => task).filter(({ id }) => replacedIn(request).has(id));
      const tasks = given.map(({ id }) => id);
      const reset = resettable(request, state, tasks).filter((id) => !tasks.includes(id));
      return [{ kind: "command", by, decision: { action, tasks, reset } }, { kind: "planned", tasks: given }];
    }
    case "remove":
      return [{ kind: "command", by, decision: { action, ids: removable(request, state) } }];
    case "abort":
      return [{ kind: "command", by, decision: { action } }];
    case "approve":
    case "reject":
      return approval(request, by, state);
    case "resolve":
      return resolution(request, by, state);
    default:
      throw unfit(request, `it is paused: ${reason}`);
  }
}

/** The ids of the tasks that a request gives anew. */
export function replacedIn({ tasks = [] }: Request): ReadonlySet<string> {
  return new Set(tasks.flatMap((task) => isObject(task) && typeof task.id === "string" ? [task.id] : []));
}

const FAILED: ReadonlySet<string> = new Set(["error", "failed_safe", "skipped"]);

/**
 * The tasks to run again: those that were named, or all that failed or were skipped because something failed. A failure
 * that a condition was written for has had its answer.
 */
function wantedTasks(request: Request, { plan, tasks }: RunState): string[] {
  if (request.ids?.length) return [...request.ids];
  const { isFailure, isExpected } = failuresOf({ plan, tasks });
  const failed = [...tasks.values()].filter(({ id, status, skippedBy }) =>
    FAILED.has(status) && !skippedBy && isFailure(id) && !isExpected(id)
  );
  if (failed.length > 0) return failed.map(({ id }) => id);
  const isDoubtful = [...tasks.values()].some(({ status }) => status === "in_doubt");
  throw unfit(request, isDoubtful ? "a call may have happened; resolve it first" : "no task has failed");
}

/** Those tasks and what was skipped, or failed without having acted, because of them; an error where one may not be. */
function resettable(request: Request, state: RunState, ids: readonly string[]): string[] {
  const isReplaced = request.action === "replace";
  for (const id of ids) {
    const task = state.tasks.get(id);
    const problem = problemOf(task, isReplaced);
    if (problem) throw unfit(request, `task ${oneLine(id, 64)} ${problem}`);
  }
  const chosen = new Set(ids);
  // In an order in which each comes after what it needs.
  for (const { task: { id, depends_on } } of planAgain(state.plan).tasks) {
    const { status, skippedBy, calls } = state.tasks.get(id)!;
    const isAffected = FAILED.has(status) && !skippedBy && calls === undefined;
    if (isAffected && depends_on.some((need) => chosen.has(need))) chosen.add(id);
  }
  return [...chosen];
}

/** The reason why a task may be neither run again nor replaced. */
function problemOf(task: TaskState | undefined, isReplaced: boolean): string | undefined {
  if (!task) return isReplaced ? "is not in the run; inject adds tasks" : "is not in the run";
  const { status, skippedBy } = task;
  if (status === "in_doubt") return "is in doubt: its call may have happened; resolve it first";
  if (status === "success") return "has succeeded, and what has succeeded is not done again";
  if (skippedBy) return "was skipped by a decision, since its call may have happened";
  if (status === "waiting" && isReplaced || FAILED.has(status)) return undefined;
  return status === "waiting" ? "has not begun yet" : "is running";
}

/** The tasks to take out: none that has begun, none that another one needs. */
function removable(request: Request, { plan, tasks }: RunState): string[] {
  const ids = new Set(request.ids);
  for (const id of ids) {
    const task = tasks.get(id);
    const isBegun = task && (task.attempt > 0 || !["waiting", "skipped"].includes(task.status));
    if (!task) throw unfit(request, `task ${oneLine(id, 64)} is not in the run`);
    if (isBegun) throw unfit(request, `task ${id} has begun (${task.status}); only one that has not can be taken out`);
    const needing = plan.filter((other) => !ids.has(other.id) && other.depends_on.includes(id));
    if (needing.length > 0) {
      throw unfit(request, `${needing.map((other) => other.id).slice(0, 10).join(", ")} needs ${id}; remove both`);
    }
  }
  if (ids.size === plan.length) throw unfit(request, "no task would be left; abort ends the run");
  return [...ids];
}

function approval(request: Request, by: DecidedBy, { pending, tasks }: RunState): Happening[] {
  const call = pending?.reason === "approval" ? pending.calls[0] : undefined;
  if (!pending?.hash || !call) throw unfit(request, "no call waits for approval");
  if (by !== "human") throw onlyHumans(request.workflow_id);
  if (request.hash !== pending.hash) {
    throw unfit(request, "the call has changed since it was shown; look at it again");
  }
  const about = { task: call.task, hash: pending.hash };
  if (request.action === "approve") {
    return [{ kind: "command", by, decision: { action: "approve", ...about, expires: Date.now() + APPROVAL_MS } }];
  }
  const { attempt = 0, isCode } = tasks.get(call.task) ?? {};
  // Code hears of it and may do something else.
  if (isCode) return [{ kind: "command", by, decision: { action: "reject", ...about } }];
  return [
    { kind: "command", by, decision: { action: "reject", ...about } },
    { kind: "failed", task: call.task, attempt, ms: 0, error: notAllowed(request.note), status: "error" },
  ];
}

/** The error of an agent that would decide what only its human may. */
export function onlyHumans(id: string): AgentCardsError {
  return new AgentCardsError("TOOL_DENIED", "Only a human can approve or reject this call", {
    hint: `Ask the user to run \`agentcards approve ${id}\` (or reject) in a terminal, then continue.`,
  });
}

function resolution(request: Request, by: DecidedBy, { tasks, plan }: RunState): Happening[] {
  const doubtful = [...tasks.values()].filter(({ status }) => status === "in_doubt");
  const task = request.task === undefined && doubtful.length === 1
    ? doubtful[0]
    : doubtful.find(({ id }) => id === request.task);
  if (!task || !request.outcome) {
    const names = doubtful.map(({ id }) => id).join(", ");
    throw unfit(
      request,
      names ? `say which task (${names}) and its outcome: done, retry or skip` : "no task is in doubt",
    );
  }
  const { id, attempt } = task;
  const command: Happening = {
    kind: "command",
    by,
    decision: { action: "resolve", task: id, outcome: request.outcome },
  };
  const word = by === "human" ? "a human" : "the agent";
  if (request.outcome === "retry") return [command];
  if (request.outcome === "skip") {
    return [command, { kind: "skipped", task: id, why: `${word} decided to skip it`, by }];
  }
  const user = request.value === undefined && task.doubt === undefined && plan.find((other) => refersTo(other, id));
  if (user) throw unfit(request, `task ${user.id} refers to what ${id} gave; say it as value`);
  const value = request.value ?? null;
  const bytes = JSON.stringify(value).length;
  if (task.doubt !== undefined) {
    // One call of its code is decided; the code goes on with what it is said to have given.
    const answer = { kind: "output", output: { kind: "value", value } } as const;
    return [command, { kind: "answered", task: id, attempt, call: task.doubt, bytes, answer }];
  }
  return [command, { kind: "done", task: id, attempt, ms: 0, bytes, output: { kind: "value", value } }];
}

/** True if a task takes a value out of the output of another one. */
function refersTo(task: Task, id: string): boolean {
  return referencesIn(kindOf(task).input(task)).some((reference) => reference.kind === "output" && reference.id === id);
}

function unfit({ workflow_id, action }: Request, why: string): AgentCardsError {
  return new AgentCardsError("RUN_STATE", `${workflow_id} cannot take "${action}": ${why}`);
}
