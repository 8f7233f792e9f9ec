import { resumeRequest } from "../intent.ts";
import { ACTIONS } from "../workflow_input.ts";
import { resultOfRun } from "../workflow_media.ts";
import type { GatewayTool } from "./tool.ts";

/** Goes on with a run, decides what it waits for, or tells how it stands. */
export const resumeWorkflow: GatewayTool = {
  definition: {
    name: "resume_workflow",
    description:
      "Tell how a workflow stands, or decide what it waits for. inject takes tasks; replan takes requirement, what else you want; resolve takes task, outcome (done|retry|skip) and value for done.",
    inputSchema: {
      type: "object",
      properties: {
        workflow_id: { type: "string" },
        action: { type: "string", enum: [...ACTIONS] },
        tasks: { type: "array", items: { type: "object" } },
        requirement: { type: "string" },
        task: { type: "string" },
        outcome: { type: "string" },
        value: {},
      },
      required: ["workflow_id", "action"],
    },
  },
  label: () => "agentcards:resume_workflow",
  run: async (session, { input }, caller) => {
    return { kind: "result", result: resultOfRun(await resumeRequest(session, input, caller)) };
  },
};
