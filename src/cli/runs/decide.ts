import { AgentCardsError, messageOf } from "../../model/mod.ts";
import { ask } from "../ask.ts";
import { type CarryOptions, carryRun } from "./run_loop.ts";
import { runId } from "./find.ts";

/** `agentcards runs resume ID` */
export function resumeRun(given: string, options: CarryOptions): Promise<number> {
  return decide(given, { action: "continue" }, options);
}

/** `agentcards runs retry ID [TASK...]` */
export function retryRun(given: string, tasks: readonly string[], options: CarryOptions): Promise<number> {
  return decide(given, { action: "retry", ...tasks.length > 0 && { tasks } }, options);
}

/** `agentcards runs abort ID`; what was asked for is done once the run is given up. */
export async function abortRun(given: string, options: CarryOptions): Promise<number> {
  await decide(given, { action: "abort" }, options);
  return 0;
}

export interface ResolveCommand {
  readonly task?: string | undefined;
  readonly outcome: "done" | "retry" | "skip";
  readonly value?: string | undefined;
}

/** `agentcards runs resolve ID` */
export async function resolveRun(given: string, command: ResolveCommand, options: CarryOptions): Promise<number> {
  const { task, outcome, value } = command;
  if (value !== undefined && outcome !== "done") {
    throw new AgentCardsError("USAGE", "--value goes with --outcome done only: it is what the call gave");
  }
  const decision = {
    action: "resolve",
    outcome,
    ...task !== undefined && { task },
    ...value !== undefined && { value: parseValue(value) },
  };
  return await decide(given, decision, options);
}

/** Decides in the run's own folder, where its servers are. */
async function decide(
  given: string,
  decision: { readonly action: string; readonly [key: string]: unknown },
  options: CarryOptions,
): Promise<number> {
  const { id, cwd } = await ask({ method: "run_show", params: { id: await runId(given) } });
  const about = options.note === undefined ? {} : { note: options.note };
  return await carryRun({ method: "decide", params: { workflow_id: id, ...decision, ...about }, cwd }, options);
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AgentCardsError("USAGE", `The value is not JSON: ${messageOf(cause)}`, {
      hint: `Quote it for the shell, for example: '{"id": 7}' or '"a text"'`,
    });
  }
}
