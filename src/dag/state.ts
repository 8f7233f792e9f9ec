import type { Json, JsonObject } from "../model/json.ts";
import type { DecidedBy, Decision, Happening, Pending, RunEvent, RunOptions, RunStatus, TaskStatus } from "./event.ts";
import type { Output } from "../model/tool.ts";
import type { Task } from "./task.ts";

/** How one task stands. */
export interface TaskState {
  readonly id: string;
  readonly status: TaskStatus | "waiting" | "running";
  readonly attempt: number;
  readonly began?: number;
  readonly ms: number;
  readonly bytes: number;
  readonly effectful?: boolean;
  /** The arguments of a call that acts on the world, as they went out; kept until it has an end. */
  readonly sent?: JsonObject;
  readonly output?: Output;
  readonly error?: string;
}

/** An approval that was given and not used yet. */
export interface Approval {
  readonly hash: string;
  readonly expires: number;
}

/** What a run has gathered so far, in the words of those who watch it. */
export interface WorkflowState {
  readonly messages: readonly { readonly at: number; readonly text: string }[];
  readonly tasks: readonly { readonly id: string; readonly status: TaskStatus; readonly at: number }[];
  readonly decisions: readonly { readonly at: number; readonly by: DecidedBy; readonly decision: Decision }[];
  /** What code tasks left for the rest of the run, later ones over earlier ones. */
  readonly context: JsonObject;
}

/** A run as its journal tells it. */
export interface RunState {
  readonly status: RunStatus;
  readonly plan: readonly Task[];
  readonly options: RunOptions;
  readonly tasks: ReadonlyMap<string, TaskState>;
  readonly workflow: WorkflowState;
  readonly pending?: Pending;
  readonly approvals: ReadonlyMap<string, Approval>;
  /** Tasks that were let go although they act on the world, or that a pause was taken after. */
  readonly released: ReadonlySet<string>;
  readonly passed: ReadonlySet<string>;
  /** How many layers may run where a run stops after each. */
  readonly layers: number;
  readonly error?: string;
  readonly seq: number;
  readonly began: number;
  readonly last: number;
  /** Milliseconds it really ran until it last came to rest, pauses left out. */
  readonly activeMs: number;
  /** When it last began to run; 0 while it rests. */
  readonly runningSince: number;
}

/** How long a run has really run until now, or until it came to rest. */
export function ranMs({ activeMs, runningSince, status, last }: RunState, now = last): number {
  return activeMs + (status === "running" && runningSince > 0 ? Math.max(0, now - runningSince) : 0);
}

/** Reads happenings one after another; what it has read so far is the state. */
export interface Fold {
  add(event: RunEvent): void;
  readonly state: RunState;
}

interface Mutable {
  status: RunStatus;
  plan: Task[];
  options: RunOptions;
  tasks: Map<string, TaskState>;
  workflow: {
    messages: { at: number; text: string }[];
    tasks: { id: string; status: TaskStatus; at: number }[];
    decisions: { at: number; by: DecidedBy; decision: Decision }[];
    context: JsonObject;
  };
  pending?: Pending;
  approvals: Map<string, Approval>;
  released: Set<string>;
  passed: Set<string>;
  layers: number;
  error?: string;
  seq: number;
  began: number;
  last: number;
  activeMs: number;
  runningSince: number;
}

function empty(): Mutable {
  return {
    status: "running",
    plan: [],
    options: {},
    tasks: new Map(),
    workflow: { messages: [], tasks: [], decisions: [], context: {} },
    approvals: new Map(),
    released: new Set(),
    passed: new Set(),
    layers: 1,
    seq: 0,
    began: 0,
    last: 0,
    activeMs: 0,
    runningSince: 0,
  };
}

/** The same happenings always give the same state. */
export function createFold(snapshot?: Json): Fold {
  const state = snapshot === undefined ? empty() : revive(snapshot);
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
  const { at } = event;
  const say = (text: string) => state.workflow.messages.push({ at, text });
  const settle = (id: string, status: TaskStatus, more: Change) => {
    change(state, id, { ...more, status });
    state.workflow.tasks.push({ id, status, at });
  };
  switch (event.kind) {
    case "planned":
      if (state.plan.length === 0) state.began = state.runningSince = at;
      else say(`${event.tasks.length} tasks were added`);
      if (event.options) state.options = event.options;
      for (const task of event.tasks) {
        state.plan.push(task);
        state.tasks.set(task.id, { id: task.id, status: "waiting", attempt: 0, ms: 0, bytes: 0 });
      }
      return;
    case "started":
      change(state, event.task, {
        status: "running",
        attempt: event.attempt,
        began: at,
        effectful: event.effect === "effectful",
        sent: event.arguments,
      });
      // An approval is good for one call.
      state.approvals.delete(event.task);
      return;
    case "done":
      settle(event.task, "success", {
        ms: event.ms,
        bytes: event.bytes,
        output: event.output,
        error: undefined,
        sent: undefined,
      });
      if (event.state) state.workflow.context = merged(state.workflow.context, event.state);
      return;
    case "failed":
      if (event.status === "again") change(state, event.task, { status: "waiting", attempt: event.attempt });
      else settle(event.task, event.status, { ms: event.ms, error: event.error });
      return;
    case "skipped":
      return settle(event.task, "skipped", { error: event.why });
    case "in_doubt":
      return settle(event.task, "in_doubt", { error: event.why });
    case "paused":
      state.status = "paused";
      state.pending = event.pending;
      rest(state, at);
      return void say(`paused: ${event.pending.why}`);
    case "resumed":
      // After a crash nobody said that it stopped: the time until its last word counts.
      rest(state, state.last);
      state.status = "running";
      state.runningSince = at;
      delete state.pending;
      return void say(`goes on: ${event.why}`);
    case "command":
      state.workflow.decisions.push({ at, by: event.by, decision: event.decision });
      decide(state, event.decision);
      // What it rested for is decided; what is left is to go on.
      if (state.status === "paused") state.pending = { ...GOING_ON };
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

function decide(state: Mutable, decision: Decision): void {
  const { pending } = state;
  switch (decision.action) {
    case "continue":
      if (pending?.reason === "effects") pending.calls.forEach(({ task }) => state.released.add(task));
      if (pending?.reason === "after") pending.calls.forEach(({ task }) => state.passed.add(task));
      if (pending?.reason === "layer") state.layers = (pending.layer ?? 0) + 2;
      return;
    case "approve":
      state.approvals.set(decision.task, { hash: decision.hash, expires: decision.expires });
      return;
    case "resolve":
      if (decision.outcome === "retry") change(state, decision.task, { status: "waiting", error: undefined });
  }
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

/** A state as JSON, to begin a later fold with. */
export function snapshotOf(state: RunState): JsonObject {
  const { tasks, approvals, released, passed, ...rest } = state;
  return {
    ...rest,
    tasks: [...tasks.values()],
    approvals: [...approvals],
    released: [...released],
    passed: [...passed],
  } as unknown as JsonObject;
}

function revive(snapshot: Json): Mutable {
  const { tasks, approvals, released, passed, ...rest } = snapshot as unknown as
    & Omit<Mutable, "tasks" | "approvals" | "released" | "passed">
    & { tasks: TaskState[]; approvals: [string, Approval][]; released: string[]; passed: string[] };
  return {
    ...rest,
    tasks: new Map(tasks.map((task) => [task.id, task])),
    approvals: new Map(approvals),
    released: new Set(released),
    passed: new Set(passed),
  };
}

/** Lets happenings happen: each gets its place and time and is read by the fold. */
export function record(folding: Fold, happenings: readonly Happening[], at = Date.now()): RunEvent[] {
  return happenings.map((happening) => {
    const event = Object.freeze({ ...happening, seq: folding.state.seq + 1, at }) as RunEvent;
    folding.add(event);
    return event;
  });
}
