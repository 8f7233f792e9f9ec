import type { Effect, JsonObject } from "../../model/mod.ts";
import { z } from "../../../deps.ts";
import type { CodeCall } from "../code_call.ts";
import type { WaitingCall } from "../event.ts";
import type { Task } from "../task.ts";

export const LONGEST_TIMEOUT = 86_400_000;

/** The fields that tasks of every kind have. */
export const COMMON_FIELDS = {
  id: z.string(),
  depends_on: z.array(z.string()).max(10_000).optional(),
  side_effects: z.boolean().optional(),
  timeout_ms: z.number().int().min(1).max(LONGEST_TIMEOUT).optional(),
  retries: z.number().int().min(0).max(10).optional(),
  when: z.string().min(1).max(2_000).optional(),
  approve: z.literal("human").optional(),
};

/** The call that may or may not have happened, with the calls that the task's code made. */
export interface Doubtful {
  readonly sent?: JsonObject | undefined;
  readonly doubt?: number | undefined;
  readonly calls?: ReadonlyMap<number, CodeCall> | undefined;
}

/** A kind of task: its form, its references, its effect, its description. `run.ts` has the way it runs. */
export interface TaskKind<T extends Task = Task> {
  /** The word for the kind in messages. */
  readonly word: string;
  readonly form: z.ZodObject;
  readonly example: string;
  /** The part of the task in which references may stand. */
  input(task: T): JsonObject;
  /** The task with the dependencies that its text implies; adds to the problems that it finds. */
  linked(task: T, ids: ReadonlySet<string>, problems: string[]): T;
  /** True if the task runs once its dependencies have settled, whatever their end. */
  readonly takesFailures: boolean;
  /** True if the calls of the task are journalled by themselves, so that the task can always run again. */
  readonly journalsCalls: boolean;
  /** The effect of the task; `ofTool` tells the effect of a tool. */
  effectOf(task: T, ofTool: (tool: string) => Effect): Effect;
  /** The effect that is journalled when an attempt begins: of what a crash right after it leaves unknown. */
  effectAtStart(effect: Effect): Effect;
  /** True if a failure of the task does not fail the run by itself. */
  isSafeToFail(task: T): boolean;
  /** The tools that the task names. */
  tools(task: T): readonly string[];
  /** One line about the task for lists: `server:tool`, or `code`. */
  describe(task: T): string;
  /** The call that somebody decides about while the task waits. */
  waiting(task: T, input: JsonObject): Omit<WaitingCall, "task">;
  /** The calls of a task in doubt that may have happened, the one to be decided first. */
  doubtful(task: T, doubtful: Doubtful): Omit<WaitingCall, "task">[];
}
