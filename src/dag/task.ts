import type { JsonObject } from "../model/mod.ts";

interface CommonTask {
  readonly id: string;
  /** Every task it waits for, those that its arguments refer to included. */
  readonly depends_on: readonly string[];
  readonly side_effects?: boolean;
  readonly timeout_ms?: number;
  readonly retries?: number;
  /** A condition over the tasks that it names and the input: the task is skipped where it is false. */
  readonly when?: string;
  /** A human has to allow the task before it begins. */
  readonly approve?: "human";
}

/** Makes a call again until a condition over its output holds. */
export interface Poll {
  readonly when: string;
  readonly every_ms: number;
  readonly times: number;
}

/** Calls one tool. */
export interface ToolTask extends CommonTask {
  readonly type: "tool";
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly until?: Poll;
}

/** Runs code over what other tasks gave. */
export interface CodeTask extends CommonTask {
  readonly type: "code_execution";
  readonly code: string;
  readonly context?: JsonObject;
  readonly intent?: string;
  readonly sandbox_config?: { readonly timeout?: number; readonly memoryLimit?: number };
}

/** The bounds of an agent's work; it is stopped at the first that it reaches. */
export interface AgentBudget {
  readonly usd?: number;
  readonly turns?: number;
  readonly minutes?: number;
}

/** Lets an agent program work on a prompt. */
export interface AgentTask extends CommonTask {
  readonly type: "agent";
  readonly agent: string;
  readonly prompt: string;
  /** A folder that the user trusts; the run's own where none is named. */
  readonly cwd?: string;
  readonly model?: string;
  /** The JSON Schema of its answer. */
  readonly schema?: JsonObject;
  readonly budget?: AgentBudget;
  /** Patterns of the tools that it may call; all that the run may call where none are named. */
  readonly tools?: readonly string[];
  /** The kinds of work, by which routes choose an agent. */
  readonly traits?: readonly string[];
  /** True if the program may use the tools that it brings. */
  readonly own_tools?: boolean;
}

export type Task = ToolTask | CodeTask | AgentTask;

/** A task with its place in the plan. */
export interface PlannedTask {
  readonly task: Task;
  /** The number of tasks that must come one after another before it. */
  readonly layer: number;
  /** The number of tasks that come one after another from it on: the longest path goes first. */
  readonly height: number;
}

/** Tasks in an order in which they could run one by one. */
export interface Plan {
  readonly tasks: readonly PlannedTask[];
  readonly layers: number;
}
