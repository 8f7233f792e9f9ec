import { messageOf, oneLine, splitToolId } from "../../model/mod.ts";
import type { Word } from "./check.ts";
import type { CompiledRule } from "./compile.ts";
import type { CallHistory, Counted, Counters, JudgedCall } from "./judged.ts";
import type { Facts, RuleExpression } from "./language.ts";

/** The variables of a condition. */
export type Context = Readonly<Record<string, unknown>>;

/** A call while rules are judged. */
export interface Judging {
  readonly call: JudgedCall;
  readonly context: () => Context;
  readonly history: CallHistory;
  readonly counters: Counters;
  /** What rates and budgets count for the call. */
  readonly counted: Counted[];
}

/** A rule that holds for a call. */
export interface Holding {
  readonly then: "deny" | "allow" | "approve" | "redact";
  /** The words of a program, or the reason why the condition could not be evaluated. */
  readonly said?: string;
}

/** The variables of a condition about a call, made when the first condition needs them. */
export function lazyContext(call: JudgedCall): () => Context {
  let context: Context | undefined;
  return () => context ??= contextOf(call);
}

/** Every declared argument that was not given is null. */
export function contextOf(call: JudgedCall): Context {
  const { tool, definition, args, effect, by, client, project, run, at = Date.now() } = call;
  const { server = "" } = splitToolId(tool);
  const declared = definition?.inputSchema.properties;
  const absent = typeof declared === "object" && declared !== null
    ? Object.fromEntries(Object.keys(declared).map((name) => [name, null]))
    : {};
  return {
    tool,
    server,
    effect,
    annotations: definition?.annotations ?? {},
    args: { ...absent, ...args },
    client: client ?? null,
    project: project ?? null,
    by,
    run: run ?? null,
    hour: BigInt(new Date(at).getHours()),
    get text() {
      return textOf(args);
    },
    result: null,
  };
}

/** All texts of a value, a line each. */
function textOf(value: unknown): string {
  const parts: string[] = [];
  const visit = (one: unknown): void => {
    if (typeof one === "string") parts.push(one);
    else if (Array.isArray(one)) one.forEach(visit);
    else if (typeof one === "object" && one !== null) Object.values(one).forEach(visit);
    else if (one !== null && one !== undefined) parts.push(String(one));
  };
  visit(value);
  return parts.join("\n");
}

/** True where a condition holds; `trouble` where it cannot be evaluated. */
export function conditionHolds(
  when: RuleExpression,
  context: Context,
  { history, call, scanned }: Pick<Judging, "history" | "call"> & { readonly scanned?: Facts["scanned"] },
): { readonly held: boolean; readonly trouble?: string } {
  try {
    return { held: when.holds(context, { history, sources: call.sources, scanned }) };
  } catch (error) {
    return { held: true, trouble: `its condition cannot be evaluated: ${oneLine(messageOf(error), 200)}` };
  }
}

/** The verdict of a rule that holds for a call; a rate or a budget counts the call where its condition holds. */
export function holdingOf(one: CompiledRule, judging: Judging, word: Word | undefined): Holding | undefined {
  const { rule, when, cost } = one;
  if (rule.check !== undefined) {
    if (!word || word.verdict === "none") return undefined;
    return { then: word.verdict, ...word.message !== undefined && { said: word.message } };
  }
  const then = rule.then!;
  const { held, trouble } = when
    ? conditionHolds(when, judging.context(), judging)
    : { held: true, trouble: undefined };
  // A rule that cannot be judged forbids or asks, and allows nothing.
  if (trouble !== undefined) return then === "allow" ? undefined : { then, said: trouble };
  if (!held) return undefined;
  if (rule.rate) return exceeds(one, judging, { amount: 1, most: rule.rate.calls, perMs: rule.rate.per });
  if (!rule.budget) return { then };
  const { call, context, history } = judging;
  try {
    const amount = typeof cost === "number" ? cost : cost!.amount(context(), { history, sources: call.sources });
    return exceeds(one, judging, { amount, most: rule.budget.usd, perMs: rule.budget.per });
  } catch (error) {
    return { then, said: `its cost cannot be told: ${oneLine(messageOf(error), 200)}` };
  }
}

function exceeds(
  { rule }: CompiledRule,
  { counters, counted }: Judging,
  { amount, most, perMs }: { readonly amount: number; readonly most: number; readonly perMs: number },
): Holding | undefined {
  counted.push({ rule: rule.name, amount });
  const before = counters.total(rule.name, perMs);
  if (before + amount <= most) return undefined;
  const shown = (sum: number) => Math.round(sum * 100) / 100;
  return { then: rule.then!, said: `${shown(before)} of ${most} are used up, and the call adds ${shown(amount)}` };
}

/** The reason that an agent and a person read. */
export function reasonOf({ rule }: CompiledRule, then: Holding["then"], said: string | undefined): string {
  const verb = { deny: "forbids it", approve: "asks", allow: "allows it", redact: "withholds it" }[then];
  const message = rule.message?.replace(/\.$/, "");
  const words = [message, said].filter((text) => text !== undefined).join(" (") +
    (message && said ? ")" : "");
  return `the rule "${rule.name}" ${verb}${words === "" ? "" : `: ${words}`}`;
}
