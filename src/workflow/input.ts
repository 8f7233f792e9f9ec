import { parseInput } from "../call/mod.ts";
import type { RunOptions } from "../dag/mod.ts";
import { AgentCardsError, isObject, type Json } from "../model/mod.ts";
import { z } from "../../deps.ts";
import type { Request } from "./decisions.ts";

const ids = z.array(z.string().max(64)).max(10_000);
/** The options of a run. */
export const OPTIONS = z.strictObject({
  pause: z.enum(["never", "layer", "effects"]).optional(),
  pause_after: ids.optional(),
  return: ids.optional(),
  timeout_ms: z.number().int().min(1).max(86_400_000).optional(),
  concurrency: z.number().int().min(1).max(10_000).optional(),
  priority: z.number().int().min(1).max(5).optional(),
  infer: z.boolean().optional(),
  snapshot: z.boolean().optional(),
  check: z.union([
    z.string().min(1).max(64),
    z.strictObject({ tool: z.string().min(1).max(256), arguments: z.record(z.string(), z.unknown()).optional() }),
    z.strictObject({ code: z.string().min(1).max(256 * 1024) }),
  ], { error: "must be the name of a check, {tool, arguments?} or {code}" }).optional(),
  rollback: z.enum(["on_failure"]).optional(),
});
const RUN = z.strictObject({
  tasks: z.array(z.unknown()).optional(),
  intent: z.string().min(1).max(4_000).optional(),
  options: OPTIONS.optional(),
});

/** The actions on a run. */
export const ACTIONS = [
  "status",
  "continue",
  "abort",
  "approve",
  "reject",
  "inject",
  "retry",
  "replace",
  "remove",
  "replan",
  "resolve",
] as const;

const RESUME = z.strictObject({
  workflow_id: z.string().min(1).max(64).optional(),
  action: z.enum(ACTIONS),
  tasks: z.array(z.unknown()).optional(),
  ids: ids.optional(),
  requirement: z.string().max(4_000).optional(),
  task: z.string().max(64).optional(),
  outcome: z.enum(["done", "retry", "skip"]).optional(),
  value: z.unknown().optional(),
  note: z.string().max(2_000).optional(),
});

/** The request to run something: tasks, or an intent in words. */
export type RunRequest =
  /** `label`: what the tasks are for, in words. */
  | { readonly tasks: unknown[]; readonly options: RunOptions; readonly label?: string }
  | { readonly intent: string; readonly options: RunOptions };

/** Checks what was sent to be run, or to be planned. */
export function parseRunOrIntent(input: unknown): RunRequest {
  const { tasks, intent, options = {} } = parseInput(RUN, input);
  if (tasks !== undefined) {
    return { tasks, options: options as RunOptions, ...intent !== undefined && { label: intent } };
  }
  if (intent !== undefined) return { intent, options: options as RunOptions };
  throw new AgentCardsError("INPUT_INVALID", "tasks is missing: send tasks, or intent to have them planned");
}

/** Checks tasks that were sent to be run. */
export function parseRun(input: unknown): { tasks: unknown[]; options: RunOptions } {
  const request = parseRunOrIntent(input);
  if ("tasks" in request) return request;
  throw new AgentCardsError("INPUT_INVALID", "tasks is missing");
}

/** Checks a decision about a run that is no plan for more. */
export function parseResume(input: unknown): Request {
  const request = parseResumeOrReplan(input);
  if (!request) throw new AgentCardsError("INPUT_INVALID", "workflow_id is missing");
  if (request.action !== "replan") return request;
  throw new AgentCardsError("INPUT_INVALID", "replan is for agents", { hint: "Add tasks with inject." });
}

/** Checks a decision about a run; none where an agent asks which runs there are. */
export function parseResumeOrReplan(input: unknown): Request | Replan | undefined {
  if (isObject(input) && "id" in input && !("workflow_id" in input)) {
    throw new AgentCardsError("INPUT_INVALID", "id is not known; did you mean workflow_id?");
  }
  const { requirement, action, value, workflow_id, ...given } = parseInput(RESUME, input);
  if (workflow_id === undefined) {
    if (action === "status") return undefined;
    throw new AgentCardsError("INPUT_INVALID", `workflow_id is missing: which run is it to ${action}?`, {
      hint: 'resume_workflow {"action": "status"} lists the runs of this session.',
    });
  }
  const rest = { ...given, workflow_id };
  requireFitting(action, input);
  if (action === "replan") {
    if (!requirement) {
      throw new AgentCardsError("INPUT_INVALID", "requirement is missing: replan needs to know what else is wanted");
    }
    return { workflow_id: rest.workflow_id, action, requirement };
  }
  if ((action === "inject" || action === "replace") && !rest.tasks?.length) {
    const what = action === "inject" ? "the tasks to add" : "the tasks as they are to be, under their ids";
    throw new AgentCardsError("INPUT_INVALID", `tasks is missing: ${action} needs ${what}`);
  }
  if (action === "retry" || action === "remove") {
    const named = idsIn(rest);
    if (action === "remove" && named.length === 0) {
      throw new AgentCardsError("INPUT_INVALID", "ids is missing: remove needs the ids of the tasks to take out");
    }
    return { workflow_id, action, ids: named, ...given.note !== undefined && { note: given.note } };
  }
  return { ...rest, action, ...value !== undefined && { value: value as Json } };
}

/** The fields that go with each action. */
const FIELDS: Readonly<Record<typeof ACTIONS[number], readonly string[]>> = {
  status: [],
  continue: [],
  abort: [],
  approve: [],
  reject: [],
  inject: ["tasks"],
  replace: ["tasks"],
  retry: ["tasks", "ids", "task"],
  remove: ["ids", "tasks", "task"],
  replan: ["requirement"],
  resolve: ["task", "outcome", "value"],
};

/** A field that an action does not take means something else than what would be done. */
function requireFitting(action: typeof ACTIONS[number], input: unknown): void {
  const given = Object.keys(isObject(input) ? input : {}).filter((key) => key !== "workflow_id" && key !== "action");
  const isDecision = action !== "status" && action !== "replan";
  const wrong = given.filter((key) => !FIELDS[action].includes(key) && !(key === "note" && isDecision));
  if (wrong.length === 0) return;
  const takes = FIELDS[action].length > 0 ? `takes ${FIELDS[action].join(", ")}` : "takes nothing but workflow_id";
  throw new AgentCardsError("INPUT_INVALID", `${wrong.join(", ")} does not go with ${action}, which ${takes}`);
}

/** The tasks that are meant, by whichever field they were named. */
function idsIn(
  { tasks, ids, task }: { tasks?: unknown[] | undefined; ids?: string[] | undefined; task?: string | undefined },
) {
  const named = [...tasks ?? [], ...ids ?? [], ...task === undefined ? [] : [task]];
  const wrong = named.find((id) => typeof id !== "string");
  if (wrong !== undefined) throw new AgentCardsError("INPUT_INVALID", 'tasks must be the ids of tasks, such as ["a"]');
  return [...new Set(named as string[])];
}

/** A further requirement of a run, in words. */
export interface Replan {
  readonly workflow_id: string;
  readonly action: "replan";
  readonly requirement: string;
}
