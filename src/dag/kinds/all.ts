import type { Task } from "../task.ts";
import { AGENT } from "./agent.ts";
import { CODE } from "./code.ts";
import type { TaskKind } from "./kind.ts";
import { TOOL } from "./tool.ts";

/** Every kind of task by its `type`. */
export const KINDS: { readonly [K in Task["type"]]: TaskKind<Extract<Task, { type: K }>> } = {
  tool: TOOL,
  code_execution: CODE,
  agent: AGENT,
};

/** The form of each kind of task. */
export const TASK_FORMS = Object.values(KINDS).map(({ form }) => form);

/** The kind of a task. */
export function kindOf<T extends Task>(task: T): TaskKind<T> {
  return KINDS[task.type] as unknown as TaskKind<T>;
}
