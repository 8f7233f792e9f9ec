import type { Json, JsonObject } from "../model/mod.ts";
import {
  type DecidedBy,
  type Decision,
  type Happening,
  isOver,
  type Pending,
  type RunEvent,
  type TaskStatus,
} from "./event.ts";
import { type CodeCall, hasActed, noteCall, openEffects, upToLastEffect } from "./code_call.ts";
import { emptyState, type Mutable, revive } from "./kept_state.ts";
import { restoredPending } from "./pending.ts";
import { kindOf } from "./kinds/all.ts";
import type { RunState, TaskState } from "./run_state.ts";
import type { Task } from "./task.ts";

/** Reads happenings one after another; what it has read so far is the state. */
export interface Fold {
  add(event: RunEvent): void;
  readonly state: RunState;
}

/** The same happenings always give the same state. */
export function createFold(snapshot?: Json): Fold {
  const state = snapshot === undefined ? emptyState() : revive(snapshot);
  return {
    state,
    add(event) {
      // A row that a crash repeated, or that a snapshot already holds.
      if (event.seq <= state.seq) return;
      state.seq = event.seq;
      reduce(state, event);
      state.last = event.at;
    },
  };
}

function reduce(state: Mutable, event: RunEvent): void {
  if (isOfTask(event)) reduceTask(state, event);
  else reduceRun(state, event);
}

type TaskEvent = Extract<RunEvent, { readonly task: string }>;

function isOfTask(event: RunEvent): event is TaskEvent {
  return "task" in event;
}

/** Takes up an event of one task. */
function reduceTask(state: Mutable, event: TaskEvent): void {
  const { at } = event;
  const settle = (id: string, status: TaskStatus, more: Change) => {
    change(state, id, { calls: undefined, doubt: undefined, ...more, status });
    state.workflow.tasks.push({ id, status, at });
    if (state.isRestored && state.status === "paused") state.pending = restoredPending(state);
  };
  switch (event.kind) {
    case "started":
      state.released.delete(event.task);
      change(state, event.task, {
        status: "running",
        attempt: event.attempt,
        began: at,
        effectful: event.effect === "effectful",
        sent: event.arguments,
      });
      if (event.approval !== undefined) state.approvals.delete(event.approval);
      return;
    case "session": {
      const { agent, session, resumes } = event;
      // Before its prompt went out nothing can have happened; a session that can be gone on with knows what has.
      return change(state, event.task, { session: { agent, id: session, resumes }, effectful: !resumes });
    }
    case "called":
      if (event.approval !== undefined) state.approvals.delete(event.approval);
      // It was let go once.
      state.released.delete(releaseOf(event));
      return change(state, event.task, { calls: noteCall(state.tasks.get(event.task)?.calls, event) });
    case "answered":
      return change(state, event.task, { calls: noteCall(state.tasks.get(event.task)?.calls, event) });
    case "done":
      settle(event.task, "success", {
        ms: event.ms,
        startMs: event.start_ms,
        starts: event.starts,
        bytes: event.bytes,
        output: event.output,
        note: event.note,
        error: undefined,
        sent: undefined,
      });
      if (event.state) state.workflow.context = merged(state.workflow.context, event.state);
      return;
    case "failed":
      if (event.status === "again") {
        const polls = (state.tasks.get(event.task)?.polls ?? 0) + 1;
        // A call that was answered has its retries anew.
        const polled = event.isPoll ? { polls, polledAt: at, base: event.attempt } : {};
        change(state, event.task, { status: "waiting", attempt: event.attempt, ...polled });
      } else if (isDoubtful(state, event)) {
        const [open] = openEffects(state.tasks.get(event.task)?.calls);
        settle(event.task, "in_doubt", { error: event.error, doubt: open?.call, calls: acted(state, event.task) });
      } else {
        settle(event.task, event.status, {
          ms: event.ms,
          startMs: event.start_ms,
          starts: event.starts,
          error: event.error,
          calls: acted(state, event.task),
        });
      }
      return;
    case "skipped": {
      const skippedBy = event.by ?? skipDecidedBy(state, event.task);
      const { why: error, because } = event;
      return settle(event.task, "skipped", { error, because, skippedBy, calls: acted(state, event.task) });
    }
    case "in_doubt":
      return settle(event.task, "in_doubt", {
        error: event.why,
        doubt: event.call,
        calls: state.tasks.get(event.task)?.calls,
      });
  }
}

/** Takes up an event of the run as a whole. */
function reduceRun(state: Mutable, event: Exclude<RunEvent, TaskEvent>): void {
  const { at } = event;
  const say = (text: string) => state.workflow.messages.push({ at, text });
  switch (event.kind) {
    case "planned":
      if (state.plan.length === 0) state.began = state.runningSince = at;
      else say(`tasks were planned: ${event.tasks.map(({ id }) => id).slice(0, 20).join(", ")}`);
      if (event.options) state.options = event.options;
      for (const task of event.tasks) putTask(state, task);
      return;
    case "paused":
      state.status = "paused";
      state.pending = event.pending;
      if (event.pending.reason === "restored") {
        // What was allowed before the backup may have been used since.
        state.isRestored = true;
        state.approvals.clear();
        state.released.clear();
      }
      rest(state, at);
      return void say(`paused: ${event.pending.why}`);
    case "resumed":
      // After a crash nobody said that it stopped: the time until its last word counts.
      rest(state, state.last);
      if (isOver(state)) {
        state.clockFrom = state.activeMs;
        delete state.error;
      }
      state.status = "running";
      state.runningSince = at;
      delete state.pending;
      delete state.isRestored;
      return void say(`goes on: ${event.why}`);
    case "command":
      state.workflow.decisions.push({
        at,
        by: event.by,
        decision: event.decision,
        ...event.note !== undefined && { note: event.note },
      });
      decide(state, event.decision, event.note);
      // What it rested for is decided; what is left is to go on.
      if (state.status === "paused") state.pending = state.isRestored ? restoredPending(state) : { ...GOING_ON };
      return;
    case "finished":
      state.status = event.status;
      delete state.pending;
      if (event.error !== undefined) state.error = event.error;
      rest(state, at);
  }
}

const GOING_ON: Pending = {
  reason: "waiting",
  for: "agent",
  why: "it was decided and waits to go on",
  calls: [],
  choices: ["continue", "abort"],
};

function decide(state: Mutable, decision: Decision, note: string | undefined): void {
  const { pending } = state;
  switch (decision.action) {
    case "continue":
      if (pending?.reason === "effects") pending.calls.forEach((call) => state.released.add(releaseOf(call)));
      if (pending?.reason === "after") pending.calls.forEach(({ task }) => state.passed.add(task));
      if (pending?.reason === "layer") state.layers = (pending.layer ?? 0) + 2;
      return;
    case "approve":
      state.approvals.set(decision.hash, { hash: decision.hash, expires: decision.expires });
      return;
    case "reject":
      state.refused.set(decision.hash, note);
      return;
    case "retry":
    case "replace":
      return decision.reset.forEach((id) => reset(state, id));
    case "remove":
      state.plan = state.plan.filter(({ id }) => !decision.ids.includes(id));
      return decision.ids.forEach((id) => state.tasks.delete(id));
    case "resolve":
      resolve(state, decision.task, decision.outcome);
  }
}

/** The name under which a task, or one call that the code of a task makes, is let go. */
export function releaseOf({ task, key }: { readonly task: string; readonly key?: string }): string {
  return key === undefined ? task : `${task} ${key}`;
}

/** Puts a task into the plan, in the place of one of the same name if there is one. */
function putTask(state: Mutable, task: Task): void {
  const isCode = kindOf(task).journalsCalls;
  const { attempt = 0, calls } = state.tasks.get(task.id) ?? {};
  state.released.delete(task.id);
  const place = state.plan.findIndex(({ id }) => id === task.id);
  state.plan.splice(place < 0 ? state.plan.length : place, place < 0 ? 0 : 1, task);
  // Code that takes the place of code that had acted hears what that did.
  const heard = isCode && calls ? { calls: upToLastEffect(calls) } : {};
  state.tasks.set(task.id, {
    id: task.id,
    status: "waiting",
    attempt,
    ...attempt > 0 && { base: attempt },
    ms: 0,
    bytes: 0,
    ...isCode && { isCode },
    ...heard,
  });
}

/** Makes a task that has failed or was skipped run again; code hears what it did up to its last effect. */
function reset(state: Mutable, id: string): void {
  const { calls, attempt } = state.tasks.get(id) ?? {};
  state.released.delete(id);
  change(state, id, {
    status: "waiting",
    base: attempt,
    ms: 0,
    startMs: undefined,
    starts: undefined,
    bytes: 0,
    error: undefined,
    skippedBy: undefined,
    because: undefined,
    polls: undefined,
    polledAt: undefined,
    calls: calls && upToLastEffect(calls),
  });
}

/** The end of the error that versions before 0.2 wrote for an effectful call whose answer never came. */
const MAY_HAVE_ACTED = "It may have had its effect.";

/** A failure that is none: versions before 0.2 wrote down calls that may have happened as errors. */
function isDoubtful(state: Mutable, { task, error }: { readonly task: string; readonly error: string }): boolean {
  const { effectful, calls } = state.tasks.get(task) ?? {};
  return effectful === true && error.endsWith(MAY_HAVE_ACTED) || openEffects(calls).length > 0;
}

/** The decider of a skipped task whose row names none: versions before 0.2 only wrote the decision. */
function skipDecidedBy(state: Mutable, task: string): DecidedBy | undefined {
  const { decision, by } = state.workflow.decisions.at(-1) ?? {};
  return decision?.action === "resolve" && decision.outcome === "skip" && decision.task === task ? by : undefined;
}

/** The calls of a task's code, where it acted on the world. */
function acted(state: Mutable, id: string): ReadonlyMap<number, CodeCall> | undefined {
  const { calls } = state.tasks.get(id) ?? {};
  return hasActed(calls) ? calls : undefined;
}

function resolve(state: Mutable, id: string, outcome: "done" | "retry" | "skip"): void {
  const { doubt, calls } = state.tasks.get(id) ?? {};
  const isOneCall = doubt !== undefined;
  if (outcome === "skip" || (outcome === "done" && !isOneCall)) return;
  // Code whose one call is decided goes on from there; code that went another way begins anew.
  const others = [...calls?.entries() ?? []].filter(([call]) => outcome === "done" || call !== doubt);
  const kept = isOneCall ? new Map(others) : undefined;
  change(state, id, { status: "waiting", error: undefined, doubt: undefined, calls: kept });
}

function rest(state: Mutable, at: number): void {
  if (state.runningSince > 0) state.activeMs += Math.max(0, at - state.runningSince);
  state.runningSince = 0;
}

type Change = { [K in keyof TaskState]?: TaskState[K] | undefined };

function change(state: Mutable, id: string, more: Change): void {
  const task = state.tasks.get(id);
  if (task) state.tasks.set(id, { ...task, ...more } as TaskState);
}

/** Not by assignment: a key may be called __proto__. */
function merged(context: JsonObject, more: JsonObject): JsonObject {
  return Object.fromEntries([...Object.entries(context), ...Object.entries(more)]);
}

/** Lets happenings happen: each gets its place and time and is read by the fold. */
export function record(folding: Fold, happenings: readonly Happening[], at = Date.now()): RunEvent[] {
  return happenings.map((happening) => {
    const event = Object.freeze({ ...happening, seq: folding.state.seq + 1, at }) as RunEvent;
    folding.add(event);
    return event;
  });
}
