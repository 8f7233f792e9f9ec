import { AgentCardsError } from "../../model/mod.ts";
import { carryRun } from "./run_loop.ts";
import type { Terminal } from "../screen/terminal.ts";
import { readWorkflowFile } from "./workflow_file.ts";

export interface RunCommand {
  readonly json?: boolean | undefined;
  readonly pause?: string | undefined;
}

/** What the engine says about a file that cannot be run as it is. */
const ABOUT_THE_FILE = new Set(["PLAN_INVALID", "INPUT_INVALID"]);

/** `agentcards run FILE` */
export async function run(path: string, { json, pause }: RunCommand, terminal: Terminal): Promise<number> {
  const { name, tasks, options } = await readWorkflowFile(path);
  const params = { name, tasks, options: { ...options, ...pause !== undefined && { pause } } };
  try {
    return await carryRun({ method: "run", params }, { json, terminal });
  } catch (error) {
    if (!(error instanceof AgentCardsError) || !ABOUT_THE_FILE.has(error.code)) throw error;
    throw new AgentCardsError("USAGE", `${path}: ${error.message}`, error.hint ? { hint: error.hint } : {});
  }
}
