import { ACTIONS, resultOfRun, resumeRequest } from "../../workflow/mod.ts";
import type { GatewayTool } from "./tool.ts";

/** Goes on with a run, decides what it waits for, or tells how it stands. */
export const resumeWorkflow: GatewayTool = {
  definition: {
    name: "resume_workflow",
    description:
      "See how a workflow stands (status; without workflow_id: your runs), decide or repair it: retry {tasks?: ids}, replace|inject {tasks}, remove {ids}, resolve {task, outcome: done|retry|skip, value}, replan {requirement}.",
    inputSchema: {
      type: "object",
      properties: {
        workflow_id: { type: "string" },
        action: { type: "string", enum: [...ACTIONS] },
        tasks: { type: "array" },
        ids: { type: "array" },
        requirement: { type: "string" },
        task: { type: "string" },
        outcome: { type: "string" },
        value: {},
      },
      required: ["action"],
    },
  },
  label: "agentcards:resume_workflow",
  run: async (session, { input }, caller) => {
    return { kind: "result", result: resultOfRun(await resumeRequest(session, input, caller)) };
  },
};
