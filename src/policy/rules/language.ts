// Loaded when a configuration has rules with conditions.
import { RE2JS } from "re2js";
import { UNITS } from "../../config/mod.ts";
import { createBreather, type ExpressionNode, messageOf, oneLine } from "../../model/mod.ts";
import type { CallHistory, Sources } from "./judged.ts";

const { createLanguage, isVariable, kindOfValue } = await import("../../model/cel/expression.ts");

/** The values that the functions of a condition read. */
export interface Facts {
  readonly history: CallHistory;
  readonly sources: Sources;
  /** A long text, and the patterns that were looked for in it beforehand. */
  readonly scanned?: Scanned | undefined;
}

/** A text that is too long for one look, and what each pattern found in it. */
export interface Scanned {
  readonly text: string;
  readonly found: ReadonlyMap<string, boolean>;
}

/** A condition or an amount of a rule. */
export interface RuleExpression {
  readonly text: string;
  /** The arguments that it names. */
  readonly args: ReadonlySet<string>;
  /** The variables and functions that it uses. */
  readonly uses: ReadonlySet<string>;
  /** The patterns that it looks for in the text of a result. */
  readonly patterns: readonly RE2JS[];
  /** The longest window that it looks back. */
  readonly windowMs: number;
  holds(context: Readonly<Record<string, unknown>>, facts: Facts): boolean;
  amount(context: Readonly<Record<string, unknown>>, facts: Facts): number;
}

const VARIABLES = [
  "tool",
  "server",
  "effect",
  "annotations",
  "args",
  "client",
  "project",
  "by",
  "run",
  "hour",
  "text",
  "result",
];
/** Longer texts are looked at in parts, between which others have their turn. */
const LONGEST_TEXT = 1_000_000;
const PART = 250_000;
/** Parts share so much: a find that is longer than this may be missed at a border. */
const OVERLAP = 8_192;
const SCAN_MS = 5_000;
const LONGEST_PATTERN = 500;
/** Functions with a window as their last argument. */
const WINDOWED = new Set(["count", "sum", "happened"]);

/** Evaluation is synchronous: the facts of the call that is judged now. */
let facts: Facts | undefined;
const compiled = new Map<string, RE2JS>();

const read = createLanguage({
  variables: VARIABLES,
  insteadOfMatches: "regex(text, PATTERN)",
  functions: {
    "count(dyn, string): int": (pattern: string, window: string) =>
      BigInt(facts!.history.count(pattern, windowOf(window))),
    "sum(dyn, string, string): double": (pattern: string, argument: string, window: string) =>
      facts!.history.sum(pattern, argument, windowOf(window)),
    "happened(dyn, string): bool": (pattern: string, window: string) =>
      facts!.history.happened(pattern, windowOf(window)),
    "origin(dyn): string": (value: unknown) => facts!.sources.origin(value),
    "untrusted(dyn): bool": (value: unknown) => facts!.sources.untrusted(value),
    "regex(dyn, string): bool": (value: unknown, pattern: string) => found(value, pattern),
    // A declared argument that was not given is null: it neither begins, ends nor contains anything.
    "null.startsWith(string): bool": () => false,
    "null.endsWith(string): bool": () => false,
    "null.contains(string): bool": () => false,
  },
});

/** Reads a condition, or an expression that gives an amount; throws an error that says what is wrong. */
export function readExpression(text: string, kind: "condition" | "amount"): RuleExpression {
  const args = new Set<string>();
  const uses = new Set<string>();
  const patterns: RE2JS[] = [];
  let windowMs = 0;
  const expression = read(text, (node) => {
    const { op, args: parts } = node as { op: string; args: unknown };
    if (op === "id" && typeof parts === "string") uses.add(parts);
    const argument = argumentIn(node);
    if (argument !== undefined) args.add(argument);
    if (op !== "call") return;
    const [name, given] = parts as [string, ExpressionNode[]];
    uses.add(name);
    if (WINDOWED.has(name)) windowMs = Math.max(windowMs, windowOf(literal(given.at(-1), `${name}() takes a window`)));
    if (name === "regex" && given.length === 2) {
      const pattern = literal(given[1], "regex() takes a pattern");
      const matcher = matcherOf(pattern);
      if (isVariable(given[0]!, "text")) patterns.push(matcher);
    }
  });
  const { type } = expression;
  const wanted = kind === "condition" ? ["bool", "dyn"] : ["int", "uint", "double", "dyn"];
  if (!wanted.includes(type)) {
    throw new Error(`it gives a value of type ${type}, not ${kind === "condition" ? "true or false" : "a number"}`);
  }
  const valueIn = (context: Readonly<Record<string, unknown>>, given: Facts): unknown => {
    facts = given;
    try {
      return expression.evaluate(context);
    } finally {
      facts = undefined;
    }
  };
  return {
    text,
    args,
    uses,
    patterns,
    windowMs,
    holds(context, given) {
      const value = valueIn(context, given);
      if (typeof value === "boolean") return value;
      throw new Error(`it gives ${kindOfValue(value)}, not true or false`);
    },
    amount(context, given) {
      const value = valueIn(context, given);
      const amount = typeof value === "bigint" ? Number(value) : value;
      if (typeof amount === "number" && Number.isFinite(amount) && amount >= 0) return amount;
      throw new Error(`it gives ${typeof amount === "number" ? amount : kindOfValue(value)}, not an amount`);
    },
  };
}

/** `args.NAME` and `args["NAME"]`. */
function argumentIn(node: ExpressionNode): string | undefined {
  const { op, args } = node as { op: string; args: unknown };
  if (op !== "." && op !== "[]") return undefined;
  const [left, right] = args as [ExpressionNode, ExpressionNode | string];
  if (!isVariable(left, "args")) return undefined;
  return typeof right === "string"
    ? right
    : right.op === "value" && typeof right.args === "string"
    ? right.args
    : undefined;
}

function literal(node: ExpressionNode | undefined, wanted: string): string {
  if (node?.op === "value" && typeof node.args === "string") return node.args;
  throw new Error(
    `${wanted} that is written out, such as ${wanted.includes("window") ? '"10m"' : '"AKIA[0-9A-Z]{16}"'}`,
  );
}

function windowOf(text: string): number {
  const [, count, unit] = /^(\d{1,6})(ms|s|m|h|d)$/.exec(text) ?? [];
  if (unit === undefined) throw new Error(`"${oneLine(text, 40)}" is no window of time; write "30s", "10m" or "7d"`);
  return Number(count) * UNITS[unit]!;
}

function matcherOf(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known) return known;
  if (pattern.length > LONGEST_PATTERN) {
    throw new Error(`a pattern of regex() has at most ${LONGEST_PATTERN} characters`);
  }
  try {
    const made = RE2JS.compile(pattern);
    compiled.set(pattern, made);
    return made;
  } catch (error) {
    throw new Error(`regex() cannot read "${oneLine(pattern, 80)}": ${oneLine(messageOf(error), 120)}`);
  }
}

function found(value: unknown, pattern: string): boolean {
  if (value === null || value === undefined) return false;
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  if (text.length <= LONGEST_TEXT) return matcherOf(pattern).test(text);
  const known = facts?.scanned?.text === text ? facts.scanned.found.get(pattern) : undefined;
  if (known === undefined) throw new Error(`regex() reads at most ${LONGEST_TEXT} characters of this value`);
  return known;
}

/** Looks for patterns in a text that is too long for one look; undefined for shorter ones. Throws when time is up. */
export async function scanLong(text: string, patterns: readonly RE2JS[]): Promise<Scanned | undefined> {
  if (text.length <= LONGEST_TEXT) return undefined;
  const breathe = createBreather();
  const until = performance.now() + SCAN_MS;
  const found = new Map<string, boolean>();
  for (const pattern of patterns) {
    let isFound = false;
    for (let at = 0; at < text.length && !isFound; at += PART) {
      isFound = pattern.test(text.slice(at, at + PART + OVERLAP));
      await breathe();
      if (performance.now() > until) {
        throw new Error(`the text of ${text.length} characters could not be searched in time`);
      }
    }
    found.set(pattern.pattern(), isFound);
  }
  return { text, found };
}

/** A text with everything that the patterns find in it replaced. Long texts are cleaned part by part, at line ends. */
export async function redactText(text: string, patterns: readonly RE2JS[], by: string): Promise<string> {
  const breathe = createBreather();
  const cleaned: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = at + PART >= text.length ? text.length : borderIn(text, at);
    cleaned.push(patterns.reduce((now, pattern) => replaced(now, pattern, by), text.slice(at, end)));
    at = end;
    await breathe();
  }
  return cleaned.join("");
}

function borderIn(text: string, from: number): number {
  const line = text.lastIndexOf("\n", from + PART) + 1;
  return line > from + PART / 2 ? line : from + PART;
}

function replaced(text: string, pattern: RE2JS, by: string): string {
  return pattern.test(text) ? pattern.matcher(text).replaceAll(RE2JS.quoteReplacement(by)) : text;
}
