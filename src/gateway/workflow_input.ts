import { z } from "../../deps.ts";
import type { RunOptions } from "../dag/event.ts";
import { AgentCardsError } from "../model/errors.ts";
import type { Json } from "../model/json.ts";
import { parseInput } from "./input.ts";
import type { Request } from "./workflow_decisions.ts";

const ids = z.array(z.string().max(64)).max(10_000);
const RUN = z.strictObject({
  tasks: z.array(z.unknown()),
  options: z.strictObject({
    pause: z.enum(["never", "layer", "effects"]).optional(),
    pause_after: ids.optional(),
    return: ids.optional(),
    timeout_ms: z.number().int().min(1).max(86_400_000).optional(),
    concurrency: z.number().int().min(1).max(10_000).optional(),
  }).optional(),
});

/** What can be done with a run. */
export const ACTIONS = ["status", "continue", "abort", "approve", "reject", "inject", "resolve"] as const;

const RESUME = z.strictObject({
  workflow_id: z.string().max(64),
  action: z.enum([...ACTIONS, "replan"]),
  tasks: z.array(z.unknown()).optional(),
  requirement: z.string().max(4_000).optional(),
  task: z.string().max(64).optional(),
  outcome: z.enum(["done", "retry", "skip"]).optional(),
  value: z.unknown().optional(),
});

/** Checks what was sent to be run. */
export function parseRun(input: unknown): { tasks: unknown[]; options: RunOptions } {
  const { tasks, options = {} } = parseInput(RUN, input);
  return { tasks, options: options as RunOptions };
}

/** Checks a decision about a run. */
export function parseResume(input: unknown): Request {
  const { requirement: _requirement, action, value, ...rest } = parseInput(RESUME, input);
  if (action === "replan") {
    throw new AgentCardsError("INPUT_INVALID", "replan is not there yet", {
      hint: "Find tools with search_tools and add tasks with inject.",
    });
  }
  if (action === "inject" && !rest.tasks) {
    throw new AgentCardsError("INPUT_INVALID", "tasks is missing: inject needs the tasks to add");
  }
  return { ...rest, action, ...value !== undefined && { value: value as Json } };
}
