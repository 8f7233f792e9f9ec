import { isObject, oneLine } from "../../model/mod.ts";
import type { AuditRow } from "../audit/row.ts";

/** A rule that would have spared a person questions. */
export interface SuggestedRule {
  readonly tool: string;
  readonly then: "allow" | "deny";
  readonly approved: number;
  readonly rejected: number;
  readonly why: string;
  /** The rule, as a line below `policy.rules`. */
  readonly line: string;
}

/** So many equal answers make a rule. */
const ENOUGH_APPROVED = 3;
const ENOUGH_REJECTED = 2;
/** A question of a rule that somebody wrote is meant: no rule that allows is proposed against it. */
const OF_A_RULE = /^the rule "|^policy\.approve has |^the task asks/;

/** Proposes rules from the answers of people in the rows of the audit. */
export function suggestRules(rows: Iterable<AuditRow>, has: (tool: string) => boolean): SuggestedRule[] {
  const answers = new Map<string, { approved: number; rejected: number; isMeant: boolean }>();
  for (const row of rows) {
    if (!isObject(row) || row.kind !== "decision" || typeof row.tool !== "string") continue;
    const { tool, word } = row;
    if (word !== "approved" && word !== "rejected") continue;
    const before = answers.get(tool) ?? { approved: 0, rejected: 0, isMeant: false };
    answers.set(tool, {
      approved: before.approved + (word === "approved" ? 1 : 0),
      rejected: before.rejected + (word === "rejected" ? 1 : 0),
      isMeant: before.isMeant || OF_A_RULE.test(String(row.rule ?? "")),
    });
  }
  return [...answers].flatMap(([tool, { approved, rejected, isMeant }]) => {
    if (!has(tool)) return [];
    const then = rejected === 0 && approved >= ENOUGH_APPROVED && !isMeant
      ? "allow" as const
      : approved === 0 && rejected >= ENOUGH_REJECTED
      ? "deny" as const
      : undefined;
    if (!then) return [];
    const times = then === "allow" ? `allowed ${approved} times` : `refused ${rejected} times`;
    return [{ tool, then, approved, rejected, why: `it was ${times}, and never otherwise`, line: lineOf(tool, then) }];
  }).sort((a, b) => b.approved + b.rejected - a.approved - a.rejected);
}

function lineOf(tool: string, then: "allow" | "deny"): string {
  const quoted = (text: string) => JSON.stringify(oneLine(text, 200));
  return `- { name: ${quoted(`${then} ${tool}`.slice(0, 80))}, match: ${quoted(tool)}, then: ${then} }`;
}
