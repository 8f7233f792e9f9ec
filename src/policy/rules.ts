import type { Config } from "../config/schema.ts";
import { matchesPattern } from "../model/pattern.ts";

/** What the configuration says about a tool. */
export type Verdict =
  | { readonly kind: "allow" }
  | { readonly kind: "deny"; readonly pattern: string }
  | { readonly kind: "approve"; readonly pattern: string };

const ALLOW: Verdict = Object.freeze({ kind: "allow" });

type Rules = Pick<Config["policy"], "deny" | "approve"> & Partial<Pick<Config["policy"], "twins">>;

/**
 * Judges a tool by its id; deny outranks approve. A rule holds for the same tool of every entry that starts the same
 * program, unless it names one entry with `=`: `=github:delete_repository`.
 */
export function judge({ deny, approve, twins }: Rules, toolId: string): Verdict {
  const ids = idsOf(toolId, twins);
  const fits = (pattern: string) =>
    pattern.startsWith("=") ? matchesPattern(pattern.slice(1), toolId) : ids.some((id) => matchesPattern(pattern, id));
  const denied = deny.find(fits);
  if (denied !== undefined) return { kind: "deny", pattern: denied };
  const asked = approve.find(fits);
  return asked === undefined ? ALLOW : { kind: "approve", pattern: asked };
}

/** A tool under the names of all entries that start its program. */
function idsOf(toolId: string, twins: Rules["twins"]): string[] {
  const colon = toolId.indexOf(":");
  const server = toolId.slice(0, colon);
  const others = twins && Object.hasOwn(twins, server) ? twins[server]! : [];
  return [toolId, ...others.map((other) => other + toolId.slice(colon))];
}
