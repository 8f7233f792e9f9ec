import type { Json, JsonObject } from "../model/mod.ts";
import { callsAsJson, callsOf } from "./code_call.ts";
import type { DecidedBy, Decision, Pending, RunOptions, RunStatus, TaskStatus } from "./event.ts";
import type { Approval, RunState, TaskState } from "./run_state.ts";
import type { Task } from "./task.ts";

/** A state that its fold still writes to. */
export interface Mutable {
  status: RunStatus;
  plan: Task[];
  options: RunOptions;
  tasks: Map<string, TaskState>;
  workflow: {
    messages: { at: number; text: string }[];
    tasks: { id: string; status: TaskStatus; at: number }[];
    decisions: { at: number; by: DecidedBy; decision: Decision; note?: string }[];
    context: JsonObject;
  };
  pending?: Pending;
  isRestored?: boolean;
  approvals: Map<string, Approval>;
  refused: Map<string, string | undefined>;
  released: Set<string>;
  passed: Set<string>;
  layers: number;
  error?: string;
  seq: number;
  began: number;
  last: number;
  activeMs: number;
  clockFrom?: number;
  runningSince: number;
}

export function emptyState(): Mutable {
  return {
    status: "running",
    plan: [],
    options: {},
    tasks: new Map(),
    workflow: { messages: [], tasks: [], decisions: [], context: {} },
    approvals: new Map(),
    refused: new Map(),
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

/** Another number for states that are folded in another way: snapshots of an older one are not used. */
export const FOLD_VERSION = 3;

/** A state as JSON, to begin a later fold with. */
export function snapshotOf(state: RunState): JsonObject {
  const { tasks, approvals, refused, released, passed, ...rest } = state;
  return {
    ...rest,
    version: FOLD_VERSION,
    tasks: [...tasks.values()].map(callsAsJson),
    approvals: [...approvals],
    refused: [...refused],
    released: [...released],
    passed: [...passed],
  } as unknown as JsonObject;
}

export function revive(snapshot: Json): Mutable {
  const { tasks, approvals, refused, released, passed, ...rest } = snapshot as unknown as
    & Omit<Mutable, "tasks" | "approvals" | "refused" | "released" | "passed">
    & {
      tasks: TaskState[];
      approvals: [string, Approval][];
      refused: [string, string | undefined][];
      released: string[];
      passed: string[];
    };
  return {
    ...rest,
    tasks: new Map(tasks.map((task) => [task.id, callsOf(task)])),
    approvals: new Map(approvals),
    refused: new Map(refused),
    released: new Set(released),
    passed: new Set(passed),
  };
}
