import { hiddenText } from "./hidden.ts";
import { imitation, mixedScripts, type Names } from "./names.ts";
import { orderToModel } from "./orders.ts";
import { type Definition, textsOf } from "./texts.ts";

/** A reason to look at a definition before it is used. It says what stands there, never that the rest is safe. */
export interface LintFinding {
  readonly rule: "hidden_text" | "order_to_model" | "other_tool" | "look_alike";
  readonly where: string;
  readonly why: string;
}

/** Names around a definition: what it may speak of, and what it must not imitate. */
export interface Surroundings {
  /** The tools of its own server. */
  readonly own: ReadonlySet<string>;
  /** The names of other servers and of their tools. */
  readonly others: Names;
}

/** Longer texts are judged by their beginning: a longer one is no description any more. */
const LONGEST_TEXT = 20_000;
const MOST_FINDINGS = 20;

/** Finds in a definition what no honest one contains: hidden text, orders to the model, names that imitate others. */
export function lintDefinition(definition: Definition, { own, others }: Surroundings): LintFinding[] {
  const findings: LintFinding[] = [];
  for (const { where, text: whole, isOfArgument } of textsOf(definition)) {
    if (findings.length >= MOST_FINDINGS) break;
    const text = whole.slice(0, LONGEST_TEXT);
    const hidden = hiddenText(text, where === "name");
    if (hidden) findings.push({ rule: "hidden_text", where, why: hidden });
    const order = orderToModel(text, { isOfArgument, own, others });
    if (order) findings.push({ ...order, where });
  }
  const mixed = mixedScripts(definition.name) ?? imitation(definition.name, others.tools, own);
  if (mixed) findings.push({ rule: "look_alike", where: "name", why: mixed });
  return findings;
}

/** The same for the name of a server. */
export function lintServerName(name: string, others: readonly string[]): LintFinding[] {
  const why = mixedScripts(name) ?? imitation(name, new Set(others), new Set());
  return why ? [{ rule: "look_alike", where: "name", why }] : [];
}
