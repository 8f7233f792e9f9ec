import type { Allowance, Effect, HumanWord, JsonObject, Output } from "../model/mod.ts";
import type { Dependency, LoadStored } from "./inputs.ts";
import type { CallAnswer, DecidedBy, Decision, RunEvent } from "./event.ts";
import type { Writer } from "./journal/journal.ts";
import type { SharedPlaces } from "./ready_queue.ts";
import type { Approvable } from "./approval.ts";
import type { Held } from "./pending.ts";
import type { Fold } from "./state.ts";
import type { CodeCall } from "./code_call.ts";
import type { AgentSession } from "./run_state.ts";
import type { AgentTask, CodeTask, Plan, Task, ToolTask } from "./task.ts";

/** The end of one attempt of a task. Failures are data: nothing here throws. */
export type TaskResult =
  | {
    readonly ok: true;
    readonly output: Output;
    readonly bytes: number;
    readonly state?: JsonObject;
    /** A note to the author of its code. */
    readonly note?: string;
  }
  | {
    readonly ok: false;
    readonly error: string;
    /**
     * `lost`: the connection went or the time was over, so that a call that is safe to repeat may be. `held`: somebody has
     * to decide first. `not_yet`: the condition that the call is repeated until does not hold. `in_doubt`: code called
     * something that may have happened before.
     */
    readonly kind: "failed" | "lost" | "question" | "sign_in" | "held" | "in_doubt" | "not_yet";
    /** Code that did not come to its own end. */
    readonly isCutOff?: boolean;
    /** A call that was lost before its server can have heard of it. */
    readonly isUnsent?: boolean;
  };

export interface CallOptions {
  /** The task's own time, where it has one. */
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
  /** To be told how long its server took to start. */
  onStarted(ms: number): void;
  /** To be told once the call has really gone out: what was given up before that has not happened. */
  onSent(): void;
  /** The same for the same call of a run, also after a restart; another one once the task is to run anew. */
  readonly key: string;
  /** True if code gets the answer: it can use images and the like. */
  readonly isFromCode?: boolean;
  /** Asks whether a call that a rule guards may go out. */
  allow(needed: Approvable): Promise<Allowance>;
  /** To be awaited before the call goes out. `approval`: the hash of the approval that the call uses up. */
  beforeSend(approval: string | undefined): Promise<void>;
}

export interface CodeOptions {
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
  /** Calls a tool for the code; throws what the code is to hear. */
  readonly call: CallFromCode;
}

export type CallFromCode = (asked: string, args: JsonObject, how: CallFromCodeOptions) => Promise<Output>;

export interface CallFromCodeOptions {
  readonly signal: AbortSignal;
  /** Stops the clock of the code while a human thinks; what it gives starts it again. */
  pause(): () => void;
}

/** One call of an agent on its way through the pipeline. */
export interface AgentCall {
  /** Aborted when the run stops. */
  readonly signal: AbortSignal;
  allow(needed: Approvable): Promise<Allowance>;
  beforeSend(approval: string | undefined): Promise<void>;
  onSent(): void;
  /** Resolves once a crash cannot forget the answer of a call that acts. */
  answered(answer: CallAnswer, bytes: number): Promise<void>;
  /** It was lost after it went out, or never went out. An acting one that may have happened ends the program. */
  lost(error: string): void;
  /** Resolves when the program is to hear an answer; never where the run stops. */
  heard(): Promise<void>;
}

/** The calls that the agent of one task makes through us, each in the journal under the task. */
export interface AgentCalls {
  open(tool: string, args: JsonObject, effect: Effect): AgentCall;
  /** Says if the program can go on with its session after it was stopped. */
  goesOn(canGoOn: boolean): void;
  /** Ends the program, but not before what acts on the world has come to its end. */
  stop(): void;
  /** The end of the task, once its program has ended. */
  settled(result: TaskResult): Promise<TaskResult>;
  starts(): Readonly<Record<string, number>>;
}

export interface AgentOptions {
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
  /** The session of an attempt before, where there was one. */
  readonly session: AgentSession | undefined;
  /** The calls that the agent made before. */
  readonly before: readonly CodeCall[];
  readonly calls: AgentCalls;
  /** Asks whether an agent that a rule guards may begin. */
  allow(needed: Approvable): Promise<Allowance>;
  /** To be awaited before the program is started. */
  beforeSend(approval: string | undefined): Promise<void>;
  /** To be awaited before the program gets its prompt, and once more where its session is known only later. */
  onSession(session: AgentSession): Promise<void>;
}

/** The functions that a run needs from outside. */
export interface RunPorts {
  callTool(task: ToolTask, args: JsonObject, options: CallOptions): Promise<TaskResult>;
  runCode(
    task: CodeTask,
    given: { deps: Readonly<Record<string, Dependency>>; context: JsonObject },
    options: CodeOptions,
  ): Promise<TaskResult>;
  /** Runs an agent program; `input` has the prompt with its references filled in. */
  runAgent(task: AgentTask, input: JsonObject, options: AgentOptions): Promise<TaskResult>;
  /** The tool that code calls by a name, as a task of its own. */
  toolFor(task: CodeTask, asked: string, args: JsonObject): Promise<ToolTask>;
  effectOf(task: Task): Effect;
  /** The server a task keeps busy. */
  serverOf(task: Task): string;
  /** Puts the question to a human who is there; undefined when none is. */
  askHuman(needed: Approvable, call: Held, signal: AbortSignal): Promise<HumanWord | undefined>;
  /** The run of a code task as a human is asked about it, where the task asks for approval. */
  approvable(task: CodeTask, context: JsonObject): Promise<Approvable>;
  load: LoadStored;
}

export interface RunInput {
  readonly fold: Fold;
  readonly plan: Plan;
  readonly writer: Writer;
  readonly ports: RunPorts;
  readonly caps: { readonly all: number; readonly perServer: number };
  /** The places on servers that the runs of a session share. */
  readonly places?: SharedPlaces;
  readonly now?: () => number;
  /** The time that code which runs again may take between two calls that it made before. */
  readonly patienceMs?: number;
}

/** The reason of a decision in words, and the key of the client's request that brought it. */
export interface AboutDecision {
  readonly note?: string | undefined;
  readonly request?: string | undefined;
}

/** A run that goes on by itself until it ends or has to wait. */
export interface Run {
  /** The events of the run as they happen. Ends when the run ends or pauses, which is then in the journal. */
  readonly events: AsyncGenerator<RunEvent, void>;
  /**
   * Applies a decision that was made meanwhile (`bigger`: the plan with injected tasks); throws when it does not fit.
   */
  decide(decision: Decision, by: DecidedBy, bigger?: Plan, about?: AboutDecision): void;
  /** Starts nothing more: what can be done again is given up, what acts on the world comes to its end. */
  hold(why: string): void;
  /** As `hold`, but without a word in the journal: the next engine goes on. */
  leave(): void;
  /** Writes nothing more at all, whatever becomes of what is under way. */
  abandon(): void;
}
