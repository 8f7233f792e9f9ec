import type { Config } from "../config/schema.ts";
import { matchesPattern } from "../model/pattern.ts";

/** What the configuration says about a tool. */
export type Verdict =
  | { readonly kind: "allow" }
  | { readonly kind: "deny"; readonly pattern: string }
  | { readonly kind: "approve"; readonly pattern: string };

const ALLOW: Verdict = Object.freeze({ kind: "allow" });

/** Judges a tool by its id; deny outranks approve. */
export function judge(policy: Pick<Config["policy"], "deny" | "approve">, toolId: string): Verdict {
  const denied = policy.deny.find((pattern) => matchesPattern(pattern, toolId));
  if (denied !== undefined) return { kind: "deny", pattern: denied };
  const asked = policy.approve.find((pattern) => matchesPattern(pattern, toolId));
  return asked === undefined ? ALLOW : { kind: "approve", pattern: asked };
}
