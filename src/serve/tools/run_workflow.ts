import { resultOfRun, runRequest } from "../../workflow/mod.ts";
import type { GatewayTool } from "./tool.ts";

/** Runs many tools as one: in parallel, journalled, and only the ends come back. */
export const runWorkflow: GatewayTool = {
  definition: {
    name: "run_workflow",
    description:
      'Run several tools as one workflow, in parallel; only final results come back. A task: {id, tool, arguments, depends_on?} or {id, type: "code_execution", code: "return deps.a.output", depends_on}. "$OUTPUT[id].path" in arguments inserts an earlier result. If paused or failed: resume_workflow.',
    inputSchema: {
      type: "object",
      properties: {
        tasks: { type: "array", items: { type: "object" } },
        intent: { type: "string", description: "Instead of tasks: plans what you want" },
        options: {
          type: "object",
          description: "pause: never|layer|effects, pause_after: [ids], return: [ids], timeout_ms, concurrency",
        },
      },
    },
    _meta: { "anthropic/alwaysLoad": true },
  },
  label: "agentcards:run_workflow",
  run: async (session, { input }, caller) => {
    return { kind: "result", result: resultOfRun(await runRequest(session, input, caller)) };
  },
};
