import type { Effect, JsonObject, Output } from "../model/mod.ts";
import type { Task } from "./task.ts";

/** The end of a task. */
export type TaskStatus = "success" | "error" | "failed_safe" | "skipped" | "in_doubt";

/** The end of a run: `partial` where some of its ends succeeded and others did not. */
export type EndStatus = "completed" | "partial" | "failed" | "aborted";

/** The status of a run as a whole. */
export type RunStatus = "running" | "paused" | EndStatus;

/** True for a run that came to an end, whatever the end. */
export function isOver({ status }: { readonly status: RunStatus }): boolean {
  return status !== "running" && status !== "paused";
}

/** The options of a run, as its starter gave them. */
export interface RunOptions {
  readonly pause?: "never" | "layer" | "effects";
  readonly pause_after?: readonly string[];
  readonly return?: readonly string[];
  readonly timeout_ms?: number;
  readonly concurrency?: number;
  /** 1 to 5: tasks of runs with a higher one go first where runs wait for the same place. */
  readonly priority?: number;
  /** Fills in required arguments that are missing and that an earlier output surely fits. */
  readonly infer?: boolean;
  /** True or false: the files of the repository are recorded around what acts, or not. */
  readonly snapshot?: boolean;
  /** Says at the end whether what the run did is right: a program by its name in the configuration, a tool, or code. */
  readonly check?:
    | string
    | { readonly tool: string; readonly arguments?: JsonObject }
    | { readonly code: string };
  /** The files are put back where the check fails. */
  readonly rollback?: "on_failure";
  /** The arguments that were filled in so. */
  readonly inferred?: readonly {
    readonly task: string;
    readonly parameter: string;
    readonly value: string;
    readonly why: string;
  }[];
  /** The values of a saved workflow's parameters. */
  readonly input?: JsonObject;
  /** The saved workflows that the run is part of, the outermost first. */
  readonly chain?: readonly string[];
  /** The saved workflows that led to the start of the run, by triggers: none of them is started by it. */
  readonly after?: readonly string[];
}

/** The cause of a skipped task: its own condition was false, or a task that it needs did not succeed. */
export type SkipCause = "when" | "need";

/** A call that waits for a decision. */
export interface WaitingCall {
  readonly task: string;
  readonly tool?: string;
  readonly arguments?: JsonObject;
  readonly code?: string;
  /** The key of a call that code makes: a decision is about that one call. */
  readonly key?: string;
}

export type PauseReason =
  | "layer"
  | "effects"
  | "after"
  | "approval"
  | "in_doubt"
  | "question"
  /** A person has to sign in to the server of the call. */
  | "sign_in"
  | "waiting"
  /** The run came out of a backup. */
  | "restored";

/** The reason of a pause, and the agent or human who may decide about it. */
export interface Pending {
  readonly reason: PauseReason;
  readonly for: "agent" | "human";
  readonly why: string;
  /** The tasks that wait, the first of which is meant by a decision that names none. */
  readonly calls: readonly WaitingCall[];
  readonly choices: readonly string[];
  /** The layer that was finished, for a pause after it. */
  readonly layer?: number;
  /** The hash of an approval's subject: run, task, definition of the tool, arguments. */
  readonly hash?: string;
  /** The definition of the tool, as its hash. */
  readonly definition?: string;
}

/** A decision, as it is written down: who made it, and what about. */
export type Decision =
  | { readonly action: "continue" }
  | { readonly action: "abort" }
  | { readonly action: "approve"; readonly task: string; readonly hash: string; readonly expires: number }
  | { readonly action: "reject"; readonly task: string; readonly hash: string }
  | { readonly action: "inject"; readonly tasks: number }
  /** These tasks are run again: those that were named, and what was skipped because of them. */
  | { readonly action: "retry"; readonly reset: readonly string[] }
  /** These tasks get another definition; `reset` as above. */
  | { readonly action: "replace"; readonly tasks: readonly string[]; readonly reset: readonly string[] }
  | { readonly action: "remove"; readonly ids: readonly string[] }
  | { readonly action: "resolve"; readonly task: string; readonly outcome: "done" | "retry" | "skip" };

export type DecidedBy = "agent" | "human";

/** A tool that the code or the agent of a task called, and what came of it: when the code runs again, it hears the same. */
export type CallHappening =
  | {
    readonly kind: "called";
    readonly task: string;
    readonly attempt: number;
    /** Its number among the calls of the task. */
    readonly call: number;
    readonly tool: string;
    /** Tells whether code that runs again makes the same call. */
    readonly key: string;
    readonly effect: Effect;
    readonly arguments?: JsonObject;
    /** The approval that this uses up. */
    readonly approval?: string;
  }
  | {
    readonly kind: "answered";
    readonly task: string;
    readonly attempt: number;
    readonly call: number;
    readonly bytes: number;
    readonly answer: CallAnswer;
  };

export type CallAnswer =
  | { readonly kind: "output"; readonly output: Output }
  | { readonly kind: "error"; readonly error: string }
  /** It was given up before it happened: the code will make it again. */
  | { readonly kind: "none" };

/** The duration of an attempt. */
export interface Times {
  readonly ms: number;
  /** Milliseconds of `ms` that passed before the call went out, while its server started. */
  readonly start_ms?: number;
  /** Milliseconds of `ms` in which the calls of its code waited for servers to start, by server. */
  readonly starts?: Readonly<Record<string, number>>;
}

/** Everything that happens to a run. This is what the journal keeps, and what whoever watches a run sees. */
export type Happening =
  | { readonly kind: "planned"; readonly tasks: readonly Task[]; readonly options?: RunOptions }
  | {
    readonly kind: "started";
    readonly task: string;
    readonly attempt: number;
    readonly effect: Effect;
    /** The arguments of a sent call that acts on the world: after a crash a person has to find out if it happened. */
    readonly arguments?: JsonObject;
    /** The approval that this uses up. */
    readonly approval?: string;
  }
  | Times & {
    readonly kind: "done";
    readonly task: string;
    readonly attempt: number;
    readonly bytes: number;
    readonly output: Output;
    /** The state that code leaves for the rest of the run. */
    readonly state?: JsonObject;
    /** A note to the author of its code. */
    readonly note?: string;
  }
  | Times & {
    readonly kind: "failed";
    readonly task: string;
    readonly attempt: number;
    readonly error: string;
    /** `again`: this attempt only; another one follows. */
    readonly status: "error" | "failed_safe" | "again";
    /** The call succeeded, and the condition that it is repeated until does not hold yet. */
    readonly isPoll?: true;
  }
  | {
    readonly kind: "skipped";
    readonly task: string;
    readonly why: string;
    /** The decider; none where something else was the reason. */
    readonly by?: DecidedBy;
    /** None where somebody decided it, or the run was cut off. */
    readonly because?: SkipCause;
  }
  | {
    readonly kind: "in_doubt";
    readonly task: string;
    readonly attempt: number;
    readonly why: string;
    /** The number of the call of its code that may or may not have happened. */
    readonly call?: number;
  }
  | CallHappening
  /** The agent program of a task gets its prompt in this session next. */
  | {
    readonly kind: "session";
    readonly task: string;
    readonly attempt: number;
    readonly agent: string;
    readonly session: string;
    /** True if the program goes on with the session when it is started again. */
    readonly resumes: boolean;
  }
  | { readonly kind: "paused"; readonly pending: Pending }
  | { readonly kind: "resumed"; readonly why: string }
  | {
    readonly kind: "command";
    readonly by: DecidedBy;
    readonly decision: Decision;
    /** The reason, in the words of whoever decided. */
    readonly note?: string;
    /** The key of the client's request that brought it. */
    readonly request?: string;
  }
  | { readonly kind: "finished"; readonly status: EndStatus; readonly error?: string };

/** A happening with its place and its time. */
export type RunEvent = Happening & { readonly seq: number; readonly at: number };

/** A list that grows while somebody reads it. Who writes never waits for who reads. */
export function createEventStream<T>() {
  let waiting: T[] = [];
  let wake = Promise.withResolvers<void>();
  let end: { error?: unknown } | undefined;

  return {
    push(item: T): void {
      waiting.push(item);
      wake.resolve();
    },
    /** Ends the stream, with an error for the reader if there is one. */
    end(error?: unknown): void {
      end ??= error === undefined ? {} : { error };
      wake.resolve();
    },
    async *read(): AsyncGenerator<T, void> {
      for (;;) {
        const items = waiting;
        waiting = [];
        yield* items;
        if (waiting.length > 0) continue;
        if (end && "error" in end) throw end.error;
        if (end) return;
        await wake.promise;
        wake = Promise.withResolvers();
      }
    },
  };
}
