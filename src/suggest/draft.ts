import { escapeReferences } from "../dag/mod.ts";
import { type Json, type JsonObject, splitWords, type Tool } from "../model/mod.ts";
import { bindRequest, type BoundCall } from "./english/bind.ts";
import { sketchOf } from "./english/sketch.ts";
import type { Choice, Chosen } from "./choice.ts";

/** What experience adds to what a request says. */
export interface Hints {
  /** How what one tool gives was seen to go into another: a path and a parameter, the surest first. */
  flows(
    source: string,
    target: string,
  ): readonly { readonly path: string; readonly parameter: string; readonly trust: number }[];
  /** The value that a parameter was always given. */
  usual(tool: string, parameter: string): Json | undefined;
  /** How much speaks for these tools together, from runs that began with a request like this one: 0 to 1. */
  trust(tools: readonly string[]): number;
  /** Whether a tool only reads. */
  reads(tool: string): boolean;
}

/** A task as it would be run. */
export interface SuggestedTask {
  readonly id: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  /** What has to be done before, although nothing of it is needed. */
  readonly depends_on?: readonly string[];
}

/** A required argument that nobody gives. */
export interface Missing {
  readonly tool: string;
  readonly task: string;
  readonly parameter: string;
  readonly why: string;
}

/** A workflow that would serve a request, as far as one can tell. */
export interface Suggestion {
  readonly confidence: number;
  readonly tasks: readonly SuggestedTask[];
  readonly missing: readonly Missing[];
  readonly explanation: readonly string[];
}

/** A task that is there already and may feed new ones. */
export interface EarlierTask {
  readonly id: string;
  readonly tool: Tool;
}

/** Fills in what is said, what other tasks give and what experience tells, in that order, and says how sure it all is. */
export function planChoices(
  { choices, served, unserved }: Chosen,
  hints: Hints,
  before: readonly EarlierTask[] = [],
): Suggestion {
  const requested = ({ tool }: { readonly tool: Tool }) => ({ ...sketchOf(tool), reads: hints.reads(tool.id) });
  const calls = bindRequest(served, choices.map(requested), before.map(requested));
  const ids = idsFor(choices, before.map(({ id }) => id));
  /** Everything a task can be fed by, in the order that edges count them. */
  const feeders = [...before, ...choices.map(({ tool }, i) => ({ id: ids[i]!, tool }))];
  const explanation: string[] = choices.map(({ tool, clause, score, margin }, i) =>
    `${ids[i]}: ${tool.id} for "${clause.trim().slice(0, 80)}" (fits ${score.toFixed(2)}, next best ${
      margin.toFixed(2)
    } behind)`
  );
  explanation.push(...unserved.map((part) => `no tool was found for "${part.slice(0, 80)}"`));
  const missing: Missing[] = [];
  const tasks = choices.map(({ tool }, i): SuggestedTask => {
    const { bound, fed, missing: open } = calls[i]!;
    const args: JsonObject = Object.create(null);
    for (const [name, { value, why }] of Object.entries(bound)) {
      args[name] = escapeReferences(value);
      explanation.push(`${ids[i]}.${name}: ${why}`);
    }
    for (const { from, output, parameter, why } of fed) {
      args[parameter] = reference(feeders[from]!.id, output);
      explanation.push(`${ids[i]}.${parameter} ← ${feeders[from]!.id}${output ? `.${output}` : ""}: ${why}`);
    }
    for (const { name, description } of open) {
      const found = fromHints(name, { at: before.length + i, feeders, hints });
      if (found) {
        args[name] = found.value;
        explanation.push(`${ids[i]}.${name}: ${found.why}`);
      } else missing.push({ tool: tool.id, task: ids[i]!, parameter: name, why: whyMissing(description) });
    }
    // Not by assignment: an argument may be called __proto__.
    const after = orderOf(i, choices.map((choice) => hints.reads(choice.tool.id))).map((at) => ids[at]!);
    return {
      id: ids[i]!,
      tool: tool.id,
      arguments: Object.fromEntries(Object.entries(args)),
      ...after.length > 0 && { depends_on: after },
    };
  });
  return {
    tasks,
    missing,
    explanation,
    // Half of what is wanted is not what is wanted.
    confidence: unserved.length > 0 && choices.length > 0 ? 0.1 : confidenceOf(choices, calls, {
      missing: missing.length,
      trust: hints.trust(choices.map(({ tool }) => tool.id)),
    }),
  };
}

/** What acts waits for all that was asked for since something acted last; what reads waits for what acted before it. */
function orderOf(at: number, reads: readonly boolean[]): number[] {
  const acted = reads.findLastIndex((isRead, i) => i < at && !isRead);
  if (reads[at]) return acted < 0 ? [] : [acted];
  return reads.flatMap((_, i) => i >= Math.max(0, acted) && i < at ? [i] : []);
}

interface Searched {
  readonly at: number;
  readonly feeders: readonly EarlierTask[];
  readonly hints: Hints;
}

/** How much an edge that was learned must be worth to be used. */
const TRUSTED = 0.4;

function fromHints(name: string, { at, feeders, hints }: Searched): { value: Json; why: string } | undefined {
  const target = feeders[at]!.tool.id;
  for (let from = at - 1; from >= 0; from--) {
    const { id, tool } = feeders[from]!;
    const flow = hints.flows(tool.id, target).find(({ parameter, trust }) => parameter === name && trust >= TRUSTED);
    if (flow) return { value: reference(id, flow.path), why: `${tool.id} gave it before` };
  }
  const value = hints.usual(target, name);
  return value === undefined ? undefined : { value: escapeReferences(value), why: "it was always so" };
}

/** `items[].id` of a task's output: the first of a list. */
export function reference(id: string, path: string): string {
  const steps = path.replaceAll("[]", "[0]").split(".").filter(Boolean);
  const text = steps.map((step, i) => {
    const [, name = "", indexes = ""] = /^([^[]*)((?:\[\d+\])*)$/.exec(step) ?? [];
    const plain = /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : name === "" ? "" : `[${JSON.stringify(name)}]`;
    return i === 0 && name === "" ? indexes : plain + indexes;
  }).join("");
  return `$OUTPUT[${id}]${text}`;
}

function whyMissing(description: string): string {
  const about = description.split(/[.\n]/)[0]!.trim();
  return `the request does not say it${about ? ` (${about.slice(0, 120)})` : ""}`;
}

/** Names for tasks: the tool's, and a number where it comes again. */
function idsFor(choices: readonly Choice[], before: readonly string[]): string[] {
  const taken = new Set(before);
  return choices.map(({ tool }) => {
    const name = splitWords(tool.name).join("_").toLowerCase().replace(/[^a-z0-9_]/g, "").slice(0, 40) || "task";
    let id = name;
    for (let count = 2; taken.has(id); count++) id = `${name}_${count}`;
    taken.add(id);
    return id;
  });
}

/**
 * How likely a suggestion is right as a whole, every value of it. Experience with the same tools for the same kind of
 * request takes it further than words alone can.
 */
function confidenceOf(
  choices: readonly Choice[],
  calls: readonly BoundCall[],
  { missing, trust }: { missing: number; trust: number },
): number {
  if (choices.length === 0) return 0;
  const least = choices.reduce((lowest, { score, margin }) => Math.min(lowest, likely(score, margin)), 1);
  const values = calls.flatMap(({ bound }) => Object.values(bound).map(({ confidence }) => confidence));
  const weakest = Math.min(1, ...values);
  const signs = least * Math.sqrt(weakest) * 0.93 ** (choices.length - 1) * (missing > 0 ? 0.85 : 1);
  const said = asShareOfRight(signs);
  // Two words that do not depend on each other: both would have to be wrong.
  return Math.round((1 - (1 - said) * (1 - trust * (missing > 0 ? 0.3 : 1))) * 1_000) / 1_000;
}

function likely(score: number, margin: number): number {
  return 1 / (1 + Math.exp(-(-2.2 + 2.2 * score + 9 * Math.min(margin, 0.25))));
}

/**
 * Among a thousand tools, the share of requests that is right where the signs are at least so strong: not the share that
 * was measured (0.17, 0.22, 0.38, 0.5, 0.6, 0.65 of eighty requests that nothing had been tuned on, `deno task eval
 * suggest`), but what so few of them can vouch for, a quarter less.
 */
const VOUCHED: readonly (readonly [number, number])[] = [[0, 0], [0.5, 0.12], [0.6, 0.17], [0.7, 0.28], [0.8, 0.38], [
  0.85,
  0.45,
], [1, 0.5]];

function asShareOfRight(signs: number): number {
  const at = Math.max(1, VOUCHED.findIndex(([bound]) => bound >= signs));
  const [[x0, y0], [x1, y1]] = [VOUCHED[at - 1]!, VOUCHED[at]!];
  return y0 + (y1 - y0) * (signs - x0) / (x1 - x0);
}
