import type { Config } from "../../config/mod.ts";
import { judge } from "../../policy/mod.ts";

/** The verdict on a tool of the client itself, in the client's words. */
export interface ClientVerdict extends Record<string, unknown> {
  readonly permissionDecision: "deny" | "ask";
  readonly permissionDecisionReason: string;
}

const ABOUT_CLIENT = /^=?client:/;

/** True if there is a rule about the client's own tools. */
export function judgesClient({ deny, approve, allow }: Config["policy"]): boolean {
  return [...deny, ...approve, ...allow.flatMap((list) => list.allow)].some((pattern) => ABOUT_CLIENT.test(pattern));
}

/**
 * Judges a tool of the client, such as its shell, by the rules about `client:NAME`. Without such a rule there is no
 * verdict, and the client's own permissions decide. An `allow` of ours never loosens them.
 */
export function judgeClientTool(policy: Config["policy"], tool: string | null): ClientVerdict | undefined {
  if (tool === null || !judgesClient(policy)) return undefined;
  const verdict = judge(policy, `client:${tool}`);
  if (verdict.kind === "allow") return undefined;
  return {
    permissionDecision: verdict.kind === "deny" ? "deny" : "ask",
    permissionDecisionReason: `policy.${verdict.pattern === undefined ? "allow" : verdict.kind} of AgentCards ${
      verdict.pattern === undefined ? "does not list this tool" : `has "${verdict.pattern}"`
    }`,
  };
}
