import type { Config } from "../../config/mod.ts";
import { messageOf } from "../../model/mod.ts";
import type { Checker, Word } from "./check.ts";
import { type CompiledRule, type CompiledRules, concerns, declaredIn } from "./compile.ts";
import { conditionHolds, type Context, contextOf, holdingOf, type Judging, lazyContext, reasonOf } from "./evaluate.ts";
import type { CallHistory, Counters, Judgeable, JudgedCall, Ruling, Sources } from "./judged.ts";
import type { RuleExpression } from "./language.ts";
import { idsOf, isAllowedByName, judgeRules } from "./lists.ts";
import { isActing, lazyCommands, type PresetRule, rulesOfPreset } from "./presets.ts";

/** The rules of one configuration, ready to judge calls. */
export interface Rulebook {
  /** Judges a call by all rules, in their order. A promise where a program is asked. */
  judge(call: JudgedCall): Ruling | Promise<Ruling>;
  /** True if a rule of the configuration is about the tool, whatever the call is. */
  concerns(tool: string): boolean;
  /** True if a rule is about results of the tool. */
  judgesResultsOf(tool: string): boolean;
  /** Judges the result of a call that was answered. */
  judgeResult(call: JudgedCall, result: ResultFacts): Promise<ResultRuling>;
  /** The reason why a call can never be allowed; undefined where it may be. */
  impossible(call: PossibleCall): string | undefined;
  /** True if the preset alone asks about a call of the tool, as its first use. */
  asksFirst(call: JudgedCall): boolean;
}

/** A call that may be made one day. `open`: the arguments whose values are not known yet. */
export interface PossibleCall {
  readonly tool: string;
  readonly definition?: Judgeable | undefined;
  readonly effect: JudgedCall["effect"];
  readonly args?: Readonly<Record<string, unknown>> | undefined;
  readonly open?: ReadonlySet<string>;
}

/** The parts of a result that rules read. */
export interface ResultFacts {
  readonly text: string;
  readonly result: unknown;
}

/** The verdict on a result. */
export interface ResultRuling {
  /** The reason why the result is withheld. */
  readonly withheld?: string;
  /** Removes from a text what rules redact. */
  readonly redact?: (text: string) => Promise<string>;
  readonly observed: readonly string[];
}

export interface RulebookPorts {
  readonly rules: CompiledRules;
  readonly history: CallHistory;
  readonly counters: Counters;
  readonly check: Checker;
  /** True if a person has allowed the tool for longer than one call. */
  isGranted(call: Pick<JudgedCall, "tool" | "definition" | "run">): boolean;
}

/** So many tools are remembered with the rules that concern them. */
const MOST_INDEXED = 20_000;
const NOTHING: readonly never[] = Object.freeze([]);
const PASS: Ruling = Object.freeze({ kind: "pass", counted: NOTHING, observed: NOTHING });
const CLEAN: ResultRuling = Object.freeze({ observed: NOTHING });
/** What the verdict of a condition may depend on besides the call itself. */
const CHANGING = new Set(
  ["count", "sum", "happened", "origin", "untrusted", "hour", "client", "project", "by", "run", "text", "result"],
);
const NONE: ReadonlySet<string> = new Set();
const NOWHERE: Sources = { origin: () => "agent", untrusted: () => false, isField: () => true };

export function createRulebook(policy: Config["policy"], ports: RulebookPorts): Rulebook {
  const { rules, history, counters, check, isGranted } = ports;
  const preset = rulesOfPreset(policy.preset, policy.without);
  const index = new Map<string, readonly CompiledRule[]>();

  /** The rules whose pattern fits a tool, with the arguments that the tool has. */
  function rulesFor(
    { tool, definition, args }: Pick<JudgedCall, "tool" | "definition" | "args">,
    on: "call" | "result",
  ) {
    const found = matching(tool);
    if (found.length === 0) return found;
    const declared = declaredIn(definition);
    return found.filter((one) =>
      (one.rule.on ?? "call") === on &&
      (!declared || one.args.every((name) => Object.hasOwn(declared, name) || Object.hasOwn(args, name)))
    );
  }

  function matching(tool: string): readonly CompiledRule[] {
    const known = index.get(tool);
    if (known) return known;
    const ids = idsOf(tool, policy.twins);
    const found = rules.all.filter((one) => concerns(one, tool, ids));
    if (index.size >= MOST_INDEXED) index.clear();
    index.set(tool, found);
    return found;
  }

  async function askPrograms(judging: Judging, found: readonly CompiledRule[]): Promise<Ruling> {
    const words = new Map<CompiledRule, Word>();
    for (const one of found) {
      const { rule, when } = one;
      if (rule.check === undefined) continue;
      if (when && !conditionHolds(when, judging.context(), judging).held) continue;
      words.set(one, await check(policy.checks[rule.check]!, judging.call));
    }
    return decide(judging, found, words);
  }

  /** The order of judgement: any denial; the first rule that allows or asks; grants; the preset. */
  function decide(judging: Judging, found: readonly CompiledRule[], words?: ReadonlyMap<CompiledRule, Word>): Ruling {
    const { call, counted } = judging;
    const observed: string[] = [];
    let denial: Decision | undefined;
    let first: (Decision & { readonly then: string }) | undefined;
    for (const one of found) {
      const holding = holdingOf(one, judging, words?.get(one));
      if (!holding) continue;
      const { rule, isObserved } = one;
      const decision = { rule: rule.name, then: holding.then, why: reasonOf(one, holding.then, holding.said) };
      if (isObserved) observed.push(`${rule.name}: ${holding.then}`);
      else if (holding.then === "deny") denial ??= decision;
      else first ??= decision;
    }
    const commands = lazyCommands(call.args);
    denial ??= denialOfPreset(call, commands);
    if (denial) return { kind: "deny", rule: denial.rule, why: denial.why, observed };
    const listed = call.isToolCall ? judgeRules(policy, call.tool) : undefined;
    if (listed?.kind === "approve") {
      const why = `policy.approve has "${listed.pattern}"`;
      return { kind: "ask", rule: listed.pattern, why, by: "rule", isOnce: true, counted, observed };
    }
    if (first?.then === "approve") {
      return { kind: "ask", rule: first.rule, why: first.why, by: "rule", isOnce: true, counted, observed };
    }
    const asked = first || isAllowedByName(policy, call.tool) ? undefined : questionOfPreset(call, commands);
    if (asked) return { kind: "ask", ...asked, by: "preset", counted, observed };
    return counted.length + observed.length === 0 ? PASS : { kind: "pass", counted, observed };
  }

  function denialOfPreset(call: JudgedCall, commands: Commands): Decision | undefined {
    for (const { name, then, holds } of preset) {
      const why = then === "deny" ? holds(call, commands) : undefined;
      if (why === undefined) continue;
      return { rule: name, why: `the rule "${name}" of the preset ${policy.preset} forbids it: ${why}` };
    }
  }

  function questionOfPreset(
    call: JudgedCall,
    commands: Commands,
  ): (Decision & { readonly isOnce: boolean }) | undefined {
    if (call.by === "human") return undefined;
    const acts = isActing(call);
    for (const rule of preset) {
      if (!asks(rule, acts) || (rule.name === FIRST_USE && isGranted(call))) continue;
      const why = rule.holds(call, commands);
      if (why !== undefined) return { rule: rule.name, why, isOnce: rule.isOnce === true };
    }
  }

  /** True if the same call is forbidden whenever it is made: its rule reads known arguments, and no clock or history. */
  function forbidsForEver(one: CompiledRule, call: JudgedCall, { args, open = NONE }: PossibleCall): boolean {
    const { rule, when, isObserved } = one;
    if (rule.then !== "deny" || isObserved || rule.rate || rule.budget) return false;
    if (!when) return true;
    if ([...when.uses].some((name) => CHANGING.has(name))) return false;
    const isKnown = when.uses.has("args")
      ? args !== undefined && when.args.size > 0 && [...when.args].every((name) => !open.has(name))
      : true;
    if (!isKnown) return false;
    const { held, trouble } = conditionHolds(when, contextOf(call), { history, call });
    return held && trouble === undefined;
  }

  /** The same with a long text, which is looked through beforehand. */
  async function holdsFor(when: RuleExpression, context: Context, call: JudgedCall) {
    try {
      const scanned = await rules.language!.scanLong(String(context.text), when.patterns);
      return conditionHolds(when, context, { history, call, scanned });
    } catch (error) {
      return { held: true, trouble: messageOf(error) };
    }
  }

  return {
    judge(call) {
      const found = rulesFor(call, "call");
      const judging = { call, context: lazyContext(call), history, counters, counted: [] };
      return found.some(({ rule }) => rule.check !== undefined) ? askPrograms(judging, found) : decide(judging, found);
    },
    concerns: (tool) => matching(tool).length > 0,
    judgesResultsOf: (tool) => matching(tool).some(({ rule }) => rule.on === "result"),
    async judgeResult(call, result) {
      const found = rulesFor(call, "result");
      if (found.length === 0) return CLEAN;
      const context = { ...contextOf(call), ...result };
      const cleaning: CompiledRule[] = [];
      const observed: string[] = [];
      let withheld: string | undefined;
      for (const one of found) {
        const { rule, when, isObserved } = one;
        const { held, trouble } = when ? await holdsFor(when, context, call) : { held: true, trouble: undefined };
        if (!held) continue;
        if (isObserved) observed.push(`${rule.name}: ${rule.then}`);
        else if (rule.then === "deny" || trouble !== undefined || !when?.patterns.length) {
          withheld ??= reasonOf(one, "redact", trouble);
        } else cleaning.push(one);
      }
      const redact = async (text: string) => {
        let now = text;
        for (const { rule, when } of cleaning) {
          now = await rules.language!.redactText(now, when!.patterns, `[redacted: ${rule.name}]`);
        }
        return now;
      };
      return { observed, ...withheld !== undefined && { withheld }, ...cleaning.length > 0 && { redact } };
    },
    impossible(possible) {
      const { tool, definition, effect, args = {}, open = NONE } = possible;
      const call: JudgedCall = { tool, definition, effect, args, by: "agent", isToolCall: true, sources: NOWHERE };
      const one = rulesFor(call, "call").find((rule) => forbidsForEver(rule, call, possible));
      if (one) return reasonOf(one, "deny", undefined);
      const known = Object.fromEntries(Object.entries(args).filter(([name]) => !open.has(name)));
      return denialOfPreset(call, lazyCommands(known))?.why;
    },
    asksFirst(call) {
      if (!preset.some(({ name }) => name === FIRST_USE) || !isActing(call) || isGranted(call)) return false;
      if (isAllowedByName(policy, call.tool) || judgeRules(policy, call.tool).kind !== "allow") return false;
      // A rule without a condition decides about every call; the others are left to the call itself.
      if (rulesFor(call, "call").some(({ rule, when }) => !when && !rule.rate && !rule.budget)) return false;
      return questionOfPreset(call, lazyCommands({}))?.rule === FIRST_USE;
    },
  };
}

type Commands = ReturnType<typeof lazyCommands>;
const FIRST_USE = "first use";

interface Decision {
  readonly rule: string;
  readonly why: string;
}

function asks({ then, isAboutActing }: PresetRule, acts: boolean): boolean {
  return then === "approve" && (acts || !isAboutActing);
}
