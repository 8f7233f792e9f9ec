import { resultOfRun, runRequest } from "../../workflow/mod.ts";
import { DEFINITIONS } from "./definitions.ts";
import type { GatewayTool } from "./tool.ts";

/** Runs many tools as one: in parallel, journalled, and only the ends come back. */
export const runWorkflow: GatewayTool = {
  definition: DEFINITIONS.run_workflow,
  label: "agentcards:run_workflow",
  run: async (session, { input }, caller) => {
    return { kind: "result", result: resultOfRun(await runRequest(session, input, caller)) };
  },
};
