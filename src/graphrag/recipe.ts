import {
  canonicalJson,
  isObject,
  type Json,
  type JsonObject,
  splitToolId,
  type Step as PathStep,
  terms,
} from "../model/mod.ts";
import type { Step } from "./habits.ts";

/** A value at the end of an output, and where it stands. */
export interface Leaf {
  readonly path: readonly PathStep[];
  readonly value: string | number;
}

/** A call with what it was given and the values it gave, as far as they are at hand. */
export interface Remembered extends Step {
  readonly arguments: JsonObject;
  readonly leaves?: readonly Leaf[];
}

/** The source of an argument's value. */
export type Source =
  | { readonly kind: "constant"; readonly value: Json }
  /** An argument of the last call of a tool. */
  | { readonly kind: "argument"; readonly of: string; readonly name: string }
  /** A value in the last result of a tool; of a list the first item, or the one after the item that was used last. */
  | {
    readonly kind: "output";
    readonly of: string;
    readonly path: readonly PathStep[];
    readonly pick?: "first" | "next";
  };

/** The way to build a call from earlier calls. */
export interface Recipe {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, Source>>;
}

/** The earlier calls and the part of each output that are searched for values: a server may send megabytes. */
const BACK = 8;
const MOST_LEAVES = 500;
const MOST_LOOKED_AT = 2_000;
const DEEPEST = 8;
const LONGEST_VALUE = 300;
const LONGEST_KEY = 100;
/** Stands in a path for the index that `pick` chooses. */
const ANY = "[]";

/** The values at the ends of an output, the nearest first. */
export function leavesOf(output: unknown): Leaf[] {
  const leaves: Leaf[] = [];
  const queue: { path: readonly PathStep[]; value: unknown }[] = [{ path: [], value: output }];
  for (let i = 0; i < queue.length && leaves.length < MOST_LEAVES; i++) {
    const { path, value } = queue[i]!;
    if (typeof value === "number" || (typeof value === "string" && value.length <= LONGEST_VALUE)) {
      leaves.push({ path, value });
      continue;
    }
    if (path.length >= DEEPEST) continue;
    for (const [key, item] of childrenOf(value)) {
      if (queue.length >= MOST_LOOKED_AT) break;
      if (typeof key === "number" || isPlainKey(key)) queue.push({ path: [...path, key], value: item });
    }
  }
  return leaves;
}

function* childrenOf(value: unknown): Generator<[PathStep, unknown]> {
  if (Array.isArray(value)) { for (let at = 0; at < value.length; at++) yield [at, value[at]]; }
  else if (isObject(value)) { for (const key in value) if (Object.hasOwn(value, key)) yield [key, value[key]]; }
}

/** True for a short key without control characters or lone surrogates. */
export function isPlainKey(key: string): boolean {
  // deno-lint-ignore no-control-regex -- they are what is looked for
  return key.length <= LONGEST_KEY && key.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(key);
}

/** Explains a call by the results of earlier calls, by their arguments, or else by its own literals. */
export function recipeOf({ tool, arguments: given }: Remembered, before: readonly Remembered[]): Recipe {
  const recent = lastOfEach(before);
  const sources = Object.entries(given).map(([name, value]): [string, Source] => [
    name,
    fromOutput(name, value, { tool, recent, before }) ?? fromArgument(name, value, recent) ??
      { kind: "constant", value },
  ]);
  return { tool, arguments: Object.fromEntries(sources) };
}

/** The arguments that a recipe makes of the calls before; undefined where something it needs is not there. */
export function fill(recipe: Recipe, before: readonly Remembered[]): JsonObject | undefined {
  return filler(before)(recipe);
}

/** Fills in several recipes after the same calls. */
export function filler(before: readonly Remembered[]): (recipe: Recipe) => JsonObject | undefined {
  let recent: ReadonlyMap<string, Remembered> | undefined;
  return ({ tool, arguments: sources }) => {
    recent ??= lastOfEach(before);
    const made: [string, Json][] = [];
    for (const [name, source] of Object.entries(sources)) {
      const value = valueFrom(source, { tool, name, recent, before });
      if (value === undefined) return undefined;
      made.push([name, value]);
    }
    // Not by assignment: an argument may be called __proto__.
    return Object.fromEntries(made);
  };
}

/** The arguments of a recipe that takes nothing from other calls. */
export function constantsOf({ arguments: sources }: Recipe): JsonObject | undefined {
  const made: [string, Json][] = [];
  for (const [name, source] of Object.entries(sources)) {
    if (source.kind !== "constant") return undefined;
    made.push([name, source.value]);
  }
  return Object.fromEntries(made);
}

/** Every place a recipe takes something out of an output: `output.items[].id → input.issue_id`. */
export function flowsOf({ arguments: sources }: Recipe): {
  readonly from: string;
  readonly path: string;
  readonly to: string;
}[] {
  return Object.entries(sources).flatMap(([to, source]) =>
    source.kind === "output" ? [{ from: source.of, path: pathText(source.path), to }] : []
  );
}

/** True if every value of a recipe goes to the server that it came from: no user has allowed another way yet. */
export function staysAtHome({ tool, arguments: sources }: Recipe): boolean {
  const { server } = splitToolId(tool);
  return Object.values(sources).every((source) =>
    source.kind === "constant" || splitToolId(source.of).server === server
  );
}

/** True if a recipe is short enough to be stored. */
export function isShort({ arguments: sources }: Recipe): boolean {
  return Object.values(sources).every((source) =>
    source.kind !== "constant" || canonicalJson(source.value).length <= LONGEST_VALUE
  );
}

/** A path as people read it: `items[].id`. */
export function pathText(path: readonly PathStep[]): string {
  return path.reduce<string>(
    (text, step) => step === ANY || typeof step === "number" ? `${text}[]` : text ? `${text}.${step}` : step,
    "",
  );
}

interface Around {
  readonly tool: string;
  readonly recent: ReadonlyMap<string, Remembered>;
  readonly before: readonly Remembered[];
}

function lastOfEach(before: readonly Remembered[]): Map<string, Remembered> {
  const recent = new Map<string, Remembered>();
  for (const step of before.slice(-BACK).reverse()) if (!recent.has(step.tool)) recent.set(step.tool, step);
  return recent;
}

function fromOutput(name: string, value: Json, { tool, recent, before }: Around): Source | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  for (const step of recent.values()) {
    for (const leaf of step.leaves ?? []) {
      if (leaf.value !== value || !isTelling(name, value, leaf.path)) continue;
      const at = leaf.path.findIndex((part) => typeof part === "number");
      if (at < 0) return { kind: "output", of: step.tool, path: leaf.path };
      const path = leaf.path.with(at, ANY);
      const index = leaf.path[at] as number;
      if (index === 0) return { kind: "output", of: step.tool, path, pick: "first" };
      const used = usedIndex({ of: step.tool, path }, { tool, name, before });
      return used === index - 1
        ? { kind: "output", of: step.tool, path, pick: "next" }
        : { kind: "output", of: step.tool, path: leaf.path };
    }
  }
}

function fromArgument(name: string, value: Json, recent: ReadonlyMap<string, Remembered>): Source | undefined {
  const text = canonicalJson(value);
  for (const step of recent.values()) {
    const same = Object.hasOwn(step.arguments, name) && canonicalJson(step.arguments[name]) === text;
    if (same) return { kind: "argument", of: step.tool, name };
  }
}

function valueFrom(source: Source, around: Around & { readonly name: string }): Json | undefined {
  if (source.kind === "constant") return source.value;
  const step = around.recent.get(source.of);
  if (!step) return undefined;
  if (source.kind === "argument") {
    return Object.hasOwn(step.arguments, source.name) ? step.arguments[source.name] : undefined;
  }
  const used = source.pick === "next" ? usedIndex(source, around) : -1;
  return used === undefined ? undefined : leafAt(step, source.path.map((part) => part === ANY ? used + 1 : part));
}

function leafAt({ leaves = [] }: Remembered, path: readonly PathStep[]): string | number | undefined {
  return leaves.find((leaf) => leaf.path.length === path.length && leaf.path.every((part, i) => part === path[i]))
    ?.value;
}

/** Which of a list the last call of the same tool was about. */
function usedIndex(
  { of, path }: { readonly of: string; readonly path: readonly PathStep[] },
  { tool, name, before }: Pick<Around, "tool" | "before"> & { readonly name: string },
): number | undefined {
  const made = before.findLastIndex((step) => step.tool === of);
  const last = before.findLast((step, i) => i > made && step.tool === tool);
  if (!last || made < 0) return undefined;
  const at = path.indexOf(ANY);
  const found = before[made]!.leaves?.find((leaf) =>
    leaf.value === last.arguments[name] && leaf.path.length === path.length &&
    leaf.path.every((part, i) => i === at ? typeof part === "number" : part === path[i])
  );
  return found?.path[at] as number | undefined;
}

/** A short value may be the same by chance: it tells something only where the names fit. */
function isTelling(name: string, value: string | number, path: readonly PathStep[]): boolean {
  if (typeof value === "string" ? value.length >= 4 : Math.abs(value) >= 100) return true;
  const last = path.findLast((part) => typeof part === "string");
  if (last === undefined || value === "") return false;
  const wanted = new Set(terms(name));
  return terms(String(last)).some((word) => wanted.has(word));
}
