import { AgentCardsError } from "../../model/mod.ts";
import { carryRun } from "./run_loop.ts";
import type { Terminal } from "../screen/terminal.ts";
import { inputFrom, readWorkflowFile } from "./workflow_file.ts";

export interface RunCommand {
  readonly json?: boolean | undefined;
  readonly pause?: "never" | "layer" | "effects" | undefined;
}

/** What the engine says about a file that cannot be run as it is. */
const ABOUT_THE_FILE = new Set(["PLAN_INVALID", "INPUT_INVALID"]);

/** `agentcards run FILE [INPUT...]` */
export async function run(
  [path, words]: readonly [string, readonly string[]],
  { json, pause }: RunCommand,
  terminal: Terminal,
): Promise<number> {
  const text = await readWorkflowFile(path);
  const params = { text, path, input: inputFrom(words), ...pause !== undefined && { pause } };
  try {
    return await carryRun({ method: "run", params }, { json, terminal });
  } catch (error) {
    if (!(error instanceof AgentCardsError) || !ABOUT_THE_FILE.has(error.code)) throw error;
    throw new AgentCardsError("USAGE", `${path}: ${error.message}`, error.hint ? { hint: error.hint } : {});
  }
}
