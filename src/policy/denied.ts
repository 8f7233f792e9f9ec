import { AgentCardsError, splitToolId } from "../model/mod.ts";
import type { Verdict } from "./rules/lists.ts";

/** The error of a call that policy forbids. */
export function denied(id: string, { pattern }: Verdict & { kind: "deny" }): AgentCardsError {
  const why = pattern === undefined
    ? `policy.allow names "${splitToolId(id).server}" and does not have it`
    : `policy.deny has "${pattern}"`;
  return new AgentCardsError("TOOL_DENIED", `${id} may not be called: ${why}`, {
    hint: "Only the user can change this, in config.yaml or in the project's .agentcards/config.yaml.",
  });
}
