import type { JsonObject, Output } from "../model/mod.ts";
import type { CodeCall } from "./code_call.ts";
import type { DecidedBy, Decision, Pending, RunOptions, RunStatus, SkipCause, TaskStatus } from "./event.ts";
import type { Task } from "./task.ts";

/** A session of an agent program, by the id that the program gives it. */
export interface AgentSession {
  readonly agent: string;
  readonly id: string;
  /** True if the program goes on with it when it is started again. */
  readonly resumes: boolean;
}

/** The state of one task. */
export interface TaskState {
  readonly id: string;
  readonly status: TaskStatus | "waiting" | "running";
  readonly attempt: number;
  /** The attempts before it was last to be run anew: its retries count from there. */
  readonly base?: number;
  readonly began?: number;
  readonly ms: number;
  /** Milliseconds of `ms` in which its server started. */
  readonly startMs?: number;
  /** The same for the servers that its code called. */
  readonly starts?: Readonly<Record<string, number>>;
  readonly bytes: number;
  readonly effectful?: boolean;
  /** The arguments of a call that acts on the world, as they went out; kept until it has an end. */
  readonly sent?: JsonObject;
  readonly output?: Output;
  readonly error?: string;
  readonly note?: string;
  /** The calls of its code so far, by number; kept until the task has succeeded, or failed without having acted. */
  readonly calls?: ReadonlyMap<number, CodeCall>;
  readonly isCode?: boolean;
  /** The session of its agent program. */
  readonly session?: AgentSession;
  /** The number of the call that may or may not have happened. */
  readonly doubt?: number;
  /** The decider, where a decision skipped it. */
  readonly skippedBy?: DecidedBy;
  /** The reason why it was skipped, where the run itself did it. */
  readonly because?: SkipCause;
  /** The calls so far that succeeded without fulfilling `until`, and the time of the last of them. */
  readonly polls?: number;
  readonly polledAt?: number;
}

/** An approval that was given and not used yet. */
export interface Approval {
  readonly hash: string;
  readonly expires: number;
}

/** The state of a run so far, in the words of those who watch it. */
export interface WorkflowState {
  readonly messages: readonly { readonly at: number; readonly text: string }[];
  readonly tasks: readonly { readonly id: string; readonly status: TaskStatus; readonly at: number }[];
  readonly decisions: readonly {
    readonly at: number;
    readonly by: DecidedBy;
    readonly decision: Decision;
    readonly note?: string;
  }[];
  /** The state that code tasks left for the rest of the run, later ones over earlier ones. */
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
  /** It came out of a backup, and nobody has gone on with it since. */
  readonly isRestored?: boolean;
  /** By what exactly was approved. */
  readonly approvals: ReadonlyMap<string, Approval>;
  /** The calls that a human did not allow, by the hash of their approval, with the reason where one was given. */
  readonly refused: ReadonlyMap<string, string | undefined>;
  /** Tasks, and calls of code by task and key, that may act on the world; tasks that a pause was taken after. */
  readonly released: ReadonlySet<string>;
  readonly passed: ReadonlySet<string>;
  /** The number of layers that may run where a run stops after each. */
  readonly layers: number;
  readonly error?: string;
  readonly seq: number;
  readonly began: number;
  readonly last: number;
  /** Milliseconds it really ran until it last came to rest, pauses left out. */
  readonly activeMs: number;
  /** The `activeMs` of its last beginning: a run that is repaired has its time anew. */
  readonly clockFrom?: number;
  /** The time at which it last began to run; 0 while it rests. */
  readonly runningSince: number;
}

/** The time that a run has really run until now, or until it came to rest. */
export function ranMs({ activeMs, runningSince, status, last }: RunState, now = last): number {
  return activeMs + (status === "running" && runningSince > 0 ? Math.max(0, now - runningSince) : 0);
}
