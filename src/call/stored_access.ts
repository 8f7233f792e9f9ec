import { AgentCardsError, cut } from "../model/mod.ts";
import { judge } from "../policy/mod.ts";
import type { Session } from "./session.ts";

const READ_RESULT = "agentcards:read_result";

/**
 * Refuses a stored result where policy forbids the tool that gave it: a handle is a name, and a session in another folder
 * may have come by it. Where nobody knows which tool it was, rules that forbid anything forbid it, too.
 */
export async function requireReadable({ config: { policy }, shared }: Session, handle: string): Promise<void> {
  if (judge(policy, READ_RESULT).kind === "deny") throw refused(`${READ_RESULT} may not be called`);
  if (policy.deny.length === 0 && policy.allow.length === 0) return;
  const tool = await shared.results.toolOf(handle);
  if (tool === undefined) return;
  if (tool === "") throw refused(`it is not known which tool gave the result "${cut(handle, 40)}"`);
  // What code or a run made of answers has no tool of a server.
  if (tool.includes(":") && judge(policy, tool).kind === "deny") {
    throw refused(`the result "${cut(handle, 40)}" is an answer of ${tool}, which may not be called`);
  }
}

function refused(why: string): AgentCardsError {
  return new AgentCardsError("TOOL_DENIED", `By policy.deny or policy.allow, ${why}`, {
    hint: "Only the user can change this, in config.yaml or in the project's .agentcards/config.yaml.",
  });
}
