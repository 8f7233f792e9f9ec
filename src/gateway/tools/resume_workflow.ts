import { z } from "../../../deps.ts";
import { AgentCardsError } from "../../model/errors.ts";
import type { Json } from "../../model/json.ts";
import { textResult } from "../answer.ts";
import { parseInput } from "../input.ts";
import { workflowAnswer } from "../workflow_answer.ts";
import type { GatewayTool } from "./tool.ts";

const ACTIONS = ["status", "continue", "abort", "approve", "reject", "inject", "replan", "resolve"] as const;
const INPUT = z.strictObject({
  workflow_id: z.string().max(64),
  action: z.enum(ACTIONS),
  tasks: z.array(z.unknown()).optional(),
  requirement: z.string().max(4_000).optional(),
  task: z.string().max(64).optional(),
  outcome: z.enum(["done", "retry", "skip"]).optional(),
  value: z.unknown().optional(),
});

/** Goes on with a run, decides what it waits for, or tells how it stands. */
export const resumeWorkflow: GatewayTool = {
  definition: {
    name: "resume_workflow",
    description:
      "Tell how a workflow stands, or decide what it waits for. inject takes tasks; resolve takes task, outcome (done|retry|skip) and value for done.",
    inputSchema: {
      type: "object",
      properties: {
        workflow_id: { type: "string" },
        action: { type: "string", enum: ACTIONS.filter((action) => action !== "replan") },
        tasks: { type: "array", items: { type: "object" } },
        task: { type: "string" },
        outcome: { type: "string" },
        value: {},
      },
      required: ["workflow_id", "action"],
    },
  },
  label: () => "agentcards:resume_workflow",
  run: async (session, { input }, caller) => {
    const { requirement: _requirement, value, ...request } = parseInput(INPUT, input);
    if (request.action === "replan") {
      throw new AgentCardsError("INPUT_INVALID", "replan is not there yet", {
        hint: "Find tools with search_tools and add tasks with inject.",
      });
    }
    const view = await session.workflows.resume(
      { ...request, ...value !== undefined && { value: value as Json } },
      { session, caller, by: "agent" },
    );
    return { kind: "result", result: textResult(JSON.stringify(await workflowAnswer(view, session))) };
  },
};
