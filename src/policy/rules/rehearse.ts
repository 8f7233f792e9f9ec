import type { Config } from "../../config/mod.ts";
import { denied } from "../denied.ts";
import { askProgram, type Checker } from "./check.ts";
import { type CompiledRule, type CompiledRules, concerns } from "./compile.ts";
import { createRuleHistory } from "./history.ts";
import type { JudgedCall, Sources } from "./judged.ts";
import { idsOf, judge } from "./lists.ts";
import { createRulebook } from "./rulebook.ts";

/** A call that is judged without being made. */
export interface RehearsedCall extends Omit<JudgedCall, "sources" | "at"> {
  readonly at: number;
  readonly sources?: Sources;
  /** True if a person allowed the tool for longer than one call. */
  readonly isGranted?: boolean;
  /** The text of its result, where rules about results are judged, too. */
  readonly result?: string;
}

/** The verdict on a call that is not made. */
export interface RehearsedWord {
  readonly kind: "pass" | "deny" | "ask" | "redact" | "withhold";
  /** The name of the rule, or the pattern of a list. */
  readonly rule?: string;
  readonly why?: string;
  /** The preset asks, and no rule: a person may allow the tool for longer. */
  readonly isPresets?: boolean;
  readonly observed: readonly string[];
}

export interface Rehearsal {
  /** Judges a call behind all calls before it: those that were not denied count for rates, budgets and the history. */
  judge(call: RehearsedCall): Promise<RehearsedWord>;
  /** The rules that are about a tool. */
  rulesAbout(tool: string): readonly CompiledRule[];
}

/** Where nothing was said about the values of a call, they are the agent's own. */
const AGENTS_OWN: Sources = { origin: () => "agent", untrusted: () => false, isField: () => false };

/** Judges calls by the rules of a configuration; nothing is called, counted or written anywhere else. */
export function createRehearsal(
  policy: Config["policy"],
  rules: CompiledRules,
  check: Checker = askProgram,
): Rehearsal {
  let now = 0;
  let isGranted = false;
  const history = createRuleHistory("", () => now);
  const { counters } = history;
  const book = createRulebook(policy, { rules, history, counters, check, isGranted: () => isGranted });
  return {
    async judge({ at, isGranted: granted = false, sources = AGENTS_OWN, result, ...call }) {
      now = at;
      isGranted = granted;
      const judged: JudgedCall = { ...call, sources, at };
      const listed = call.isToolCall ? judge(policy, call.tool) : undefined;
      if (listed?.kind === "deny") {
        const rule = listed.pattern ?? "policy.allow";
        return { kind: "deny", rule, why: denied(call.tool, listed).message, observed: [] };
      }
      const ruling = await book.judge(judged);
      const { observed } = ruling;
      if (ruling.kind === "deny") return { kind: "deny", rule: ruling.rule, why: ruling.why, observed };
      for (const one of ruling.counted) counters.add(one);
      history.begin(call.tool, call.args).ended("ok");
      if (ruling.kind === "ask") {
        return { kind: "ask", rule: ruling.rule, why: ruling.why, isPresets: ruling.by === "preset", observed };
      }
      if (result === undefined || !book.judgesResultsOf(call.tool)) return { kind: "pass", observed };
      const { withheld, redact, observed: seen } = await book.judgeResult(judged, { text: result, result });
      const all = [...observed, ...seen];
      if (withheld !== undefined) return { kind: "withhold", ...ruleIn(withheld), why: withheld, observed: all };
      const clean = redact ? await redact(result) : result;
      return clean === result
        ? { kind: "pass", observed: all }
        : { kind: "redact", ...ruleIn(clean), why: clean, observed: all };
    },
    rulesAbout(tool) {
      const ids = idsOf(tool, policy.twins);
      return rules.all.filter((one) => concerns(one, tool, ids));
    },
  };
}

/** The name of the rule that a reason, or the note in the place of what was redacted, tells. */
function ruleIn(text: string): { rule?: string } {
  const [, named, redacting] = /the rule "([^"]+)"|\[redacted: ([^\]]+)\]/.exec(text) ?? [];
  const rule = named ?? redacting;
  return rule === undefined ? {} : { rule };
}
