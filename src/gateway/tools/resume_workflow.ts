import { textResult } from "../answer.ts";
import { workflowAnswer } from "../workflow_answer.ts";
import { ACTIONS, parseResume } from "../workflow_input.ts";
import type { GatewayTool } from "./tool.ts";

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
        action: { type: "string", enum: [...ACTIONS] },
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
    const view = await session.workflows.resume(parseResume(input), { session, caller, by: "agent" });
    return { kind: "result", result: textResult(JSON.stringify(await workflowAnswer(view, session))) };
  },
};
