import { resultOfRun, resumeRequest } from "../../workflow/mod.ts";
import { DEFINITIONS } from "./definitions.ts";
import type { GatewayTool } from "./tool.ts";

/** Goes on with a run, decides what it waits for, or tells how it stands. */
export const resumeWorkflow: GatewayTool = {
  definition: DEFINITIONS.resume_workflow,
  label: "agentcards:resume_workflow",
  run: async (session, { input }, caller) => {
    return { kind: "result", result: resultOfRun(await resumeRequest(session, input, caller)) };
  },
};
