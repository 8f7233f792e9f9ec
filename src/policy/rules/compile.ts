import type { Config, Rule } from "../../config/mod.ts";
import { AgentCardsError, isObject, matchesPattern, messageOf, splitToolId } from "../../model/mod.ts";
import type { Judgeable } from "./judged.ts";
import type { RuleExpression } from "./language.ts";

type Policy = Config["policy"];

/** A rule with its condition and its cost as they are evaluated. */
export interface CompiledRule {
  readonly rule: Rule;
  readonly when?: RuleExpression;
  readonly cost?: RuleExpression | number;
  readonly isObserved: boolean;
  /** The arguments that it names, in its condition and its cost. */
  readonly args: readonly string[];
}

/** The rules of a configuration. */
export interface CompiledRules {
  readonly all: readonly CompiledRule[];
  /** The longest window that a function, a rate or a budget looks back. */
  readonly windowMs: number;
  /** The language, where a rule has a condition. */
  readonly language?: Pick<typeof import("./language.ts"), "redactText" | "scanLong">;
}

export const NO_RULES: CompiledRules = Object.freeze({ all: [], windowMs: 0 });

/** Reads the conditions of all rules. An error names the place of the rule, the rule and the reason. */
export async function compileRules(
  { rules, mode, checks }: Pick<Policy, "rules" | "mode" | "checks">,
): Promise<CompiledRules> {
  if (rules.length === 0) return NO_RULES;
  const isWritten = rules.some(({ when, budget }) => when !== undefined || typeof budget?.cost === "string");
  const language = isWritten ? await import("./language.ts") : undefined;
  const all = rules.map((rule): CompiledRule => {
    const read = (text: string, kind: "condition" | "amount") => {
      try {
        return language!.readExpression(text, kind);
      } catch (error) {
        throw unusable(rule, `${kind === "condition" ? "when" : "budget.cost"}: ${messageOf(error)}`);
      }
    };
    if (rule.check !== undefined && !Object.hasOwn(checks, rule.check)) {
      throw unusable(rule, `there is no program "${rule.check}" in policy.checks`);
    }
    const when = rule.when === undefined ? undefined : read(rule.when, "condition");
    if (rule.on !== "result" && (when?.uses.has("result"))) {
      throw unusable(rule, "result is known to rules with on: result only");
    }
    const given = rule.budget?.cost;
    const cost = typeof given === "string" ? read(given, "amount") : given;
    return {
      rule,
      ...when && { when },
      ...cost !== undefined && { cost },
      isObserved: mode === "observe" || rule.mode === "observe",
      args: [...new Set([...when?.args ?? [], ...typeof cost === "object" ? cost.args : []])],
    };
  });
  const windows = all.flatMap(({ rule, when, cost }) => [
    rule.rate?.per ?? 0,
    rule.budget?.per ?? 0,
    when?.windowMs ?? 0,
    typeof cost === "object" ? cost.windowMs : 0,
  ]);
  return { all, windowMs: Math.max(0, ...windows), ...language && { language } };
}

/** The error of a rule that cannot be used. */
export function unusable({ name, at }: Rule, reason: string): AgentCardsError {
  return new AgentCardsError("CONFIG_INVALID", `Cannot use ${at ?? "the configuration"}: rule "${name}": ${reason}`, {
    hint: "Until it is corrected, the last good configuration holds. docs/POLICY.md has the rule language.",
  });
}

/** True if the pattern of a rule fits a tool; `ids` are its names under all entries that start its program. */
export function concerns({ rule }: CompiledRule, tool: string, ids: readonly string[]): boolean {
  return rule.match.some((pattern) => fits(pattern, { tool, ids, isAllowing: rule.then === "allow" }));
}

function fits(
  pattern: string,
  { tool, ids, isAllowing }: { readonly tool: string; readonly ids: readonly string[]; readonly isAllowing: boolean },
): boolean {
  if (pattern.startsWith("=")) return matchesPattern(pattern.slice(1), tool);
  // What is allowed for one account is not for another.
  return isAllowing ? matchesPattern(pattern, tool) : ids.some((id) => matchesPattern(pattern, id));
}

/** The arguments that a tool declares; undefined where its schema leaves them open. */
export function declaredIn(definition: Judgeable | undefined): Readonly<Record<string, unknown>> | undefined {
  const properties = definition?.inputSchema.properties;
  return isObject(properties) ? properties : undefined;
}

/** A tool as rules may name it without a server of the configuration behind it. */
const FREE_SERVERS = new Set(["agentcards", "workflow", "code", "agent", "client"]);

interface KnownTool extends Judgeable {
  readonly id: string;
}

/**
 * The reason why a rule can never match: a server that is not configured, a tool that its server does not have, or an
 * argument that none of the tools has. `tools` gives the tools of a server where its list is known.
 */
export function neverMatches(
  { rule, args }: CompiledRule,
  servers: readonly string[],
  tools: (server: string) => readonly KnownTool[] | undefined,
): string | undefined {
  const patterns = rule.match.map((pattern) => pattern.startsWith("=") ? pattern.slice(1) : pattern);
  const places = patterns.map((pattern) => {
    const { server = "*" } = splitToolId(pattern.includes(":") ? pattern : `${pattern}:`);
    return { pattern, server, among: [...servers, ...FREE_SERVERS].filter((name) => matchesPattern(server, name)) };
  });
  if (places.every(({ among }) => among.length === 0)) {
    return `it can never match: there is no server "${places[0]!.server}"; configured: ${servers.join(", ") || "none"}`;
  }
  const isOpen = places.some(({ among }) => among.some((name) => FREE_SERVERS.has(name) || !tools(name)));
  if (isOpen) return undefined;
  const matching = places.flatMap(({ pattern, among }) =>
    among.flatMap((name) => tools(name)!).filter(({ id }) => matchesPattern(pattern, id))
  );
  if (matching.length === 0) {
    return `it can never match: ${[...new Set(places.flatMap(({ among }) => among))].join(", ")} has no tool ${
      patterns.map((one) => `"${one}"`).join(" or ")
    }`;
  }
  const lacking = args.find((name) =>
    matching.every((tool) => {
      const declared = declaredIn(tool);
      return declared && !Object.hasOwn(declared, name);
    })
  );
  if (lacking === undefined) return undefined;
  const known = [...new Set(matching.flatMap((tool) => Object.keys(declaredIn(tool) ?? {})))].slice(0, 12);
  return `it can never match: none of its tools has the argument "${lacking}"; they have ${known.join(", ") || "none"}`;
}
