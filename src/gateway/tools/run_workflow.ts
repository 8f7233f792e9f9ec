import { textResult } from "../answer.ts";
import { workflowAnswer } from "../workflow_answer.ts";
import { parseRun } from "../workflow_input.ts";
import type { GatewayTool } from "./tool.ts";

/** Runs many tools as one: in parallel, journalled, and only the ends come back. */
export const runWorkflow: GatewayTool = {
  definition: {
    name: "run_workflow",
    description:
      'Run several tools as one workflow, in parallel where possible; only final results come back. A task: {id, tool, arguments, depends_on?}. "$OUTPUT[id].path" in arguments inserts an earlier result. May answer paused: see resume_workflow.',
    inputSchema: {
      type: "object",
      properties: {
        tasks: { type: "array", items: { type: "object" } },
        options: {
          type: "object",
          description: "pause: never|layer|effects, pause_after: [ids], return: [ids], timeout_ms, concurrency",
        },
      },
      required: ["tasks"],
    },
    _meta: { "anthropic/alwaysLoad": true },
  },
  label: () => "agentcards:run_workflow",
  run: async (session, { input }, caller) => {
    const view = await session.workflows.start({ ...parseRun(input), name: "" }, { session, caller, by: "agent" });
    return { kind: "result", result: textResult(JSON.stringify(await workflowAnswer(view, session))) };
  },
};
