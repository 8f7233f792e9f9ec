import type { Remembered } from "../../graphrag/mod.ts";
import { canonicalJson, type Json, type JsonObject, splitToolId, terms } from "../../model/mod.ts";

/** A call of a conversation, with the values that it gave. */
export interface PastCall extends Remembered {
  readonly reads: boolean;
}

type Step = string | number;

/** The origin of one argument: fixed, an argument of an earlier call, a value of its output, or both joined by a slash. */
export type Origin =
  | { readonly kind: "constant"; readonly value: Json }
  | { readonly kind: "argument"; readonly of: string; readonly name: string }
  | { readonly kind: "leaf"; readonly of: string; readonly path: readonly Step[] }
  | { readonly kind: "joined"; readonly of: string; readonly name: string; readonly path: readonly Step[] };

/** The way to build a read from an earlier call; its lists stand for each of their items. */
export interface Template {
  readonly tool: string;
  /** The call that it starts from. */
  readonly anchor: string;
  readonly arguments: Readonly<Record<string, Origin>>;
}

/** A call that a template makes. */
export interface Instance {
  readonly arguments: JsonObject;
  /** The place of its item in the list, and the length of the list; 0 of 1 where there is no list. */
  readonly index: number;
  readonly count: number;
}

/** The number of earlier calls that are searched for values. */
const BACK = 12;
const MOST_ITEMS = 24;
const ANY = "[]";

/** Explains a call by the outputs and arguments of the calls before it. */
export function templateOf(call: Remembered, before: readonly PastCall[]): Template | undefined {
  const recent = before.slice(-BACK).reverse();
  const last = recent[0];
  if (!last) return undefined;
  const given = Object.entries(call.arguments);
  const origins = given.map(([name, value]): [string, Origin] => [name, originOf(name, value, recent)]);
  const anchor = origins.flatMap(([, origin]) => "path" in origin ? [origin.of] : [])[0] ??
    origins.flatMap(([, origin]) => origin.kind === "argument" ? [origin.of] : [])[0] ?? last.tool;
  return { tool: call.tool, anchor, arguments: Object.fromEntries(origins) };
}

function originOf(name: string, value: Json, recent: readonly PastCall[]): Origin {
  const isScalar = typeof value === "string" || typeof value === "number";
  if (isScalar) {
    for (const step of recent) {
      const found = (step.leaves ?? []).filter((leaf) => leaf.value === value && isTelling(name, value, leaf.path));
      const best = found.find(({ path }) => sharesWord(name, path)) ?? found[0];
      if (best) return { kind: "leaf", of: step.tool, path: general(best.path) };
    }
  }
  const text = canonicalJson(value);
  const isSame = (args: JsonObject, key: string) => Object.hasOwn(args, key) && canonicalJson(args[key]) === text;
  for (const { tool, arguments: args } of recent) {
    const key = isSame(args, name)
      ? name
      : text.length > 6
      ? Object.keys(args).find((one) => isSame(args, one))
      : undefined;
    if (key !== undefined) return { kind: "argument", of: tool, name: key };
  }
  return (typeof value === "string" ? joined(value, recent) : undefined) ?? { kind: "constant", value };
}

/** A path made of a folder that was asked for and a name that was found in it. */
function joined(value: string, recent: readonly PastCall[]): Origin | undefined {
  const slash = value.lastIndexOf("/");
  if (slash < 1) return undefined;
  const [folder, file] = [value.slice(0, slash), value.slice(slash + 1)];
  for (const { tool, arguments: args, leaves = [] } of recent) {
    const name = Object.keys(args).find((key) => plainFolder(args[key]) === folder);
    const leaf = name === undefined ? undefined : leaves.find((one) => one.value === file);
    if (name !== undefined && leaf) return { kind: "joined", of: tool, name, path: general(leaf.path) };
  }
}

const plainFolder = (value: unknown) => typeof value === "string" ? value.replace(/\/$/, "") : undefined;

function general(path: readonly Step[]): Step[] {
  return path.map((step) => typeof step === "number" ? ANY : step);
}

/** The calls that a template makes of what was called last. */
export function instancesOf(template: Template, before: readonly PastCall[]): Instance[] {
  const recent = before.slice(-BACK).reverse();
  const origins = Object.entries(template.arguments);
  const fixed: [string, Json][] = [];
  const lists: { name: string; values: readonly { first: number; value: Json }[] }[] = [];
  for (const [name, origin] of origins) {
    if (origin.kind === "constant") {
      fixed.push([name, origin.value]);
      continue;
    }
    const step = recent.find(({ tool }) => tool === origin.of);
    if (!step) return [];
    if (origin.kind === "argument") {
      if (!Object.hasOwn(step.arguments, origin.name)) return [];
      fixed.push([name, step.arguments[origin.name]!]);
      continue;
    }
    const values = itemsAt(step, origin.path).map(({ first, value }) => ({
      first,
      value: origin.kind === "joined" ? `${plainFolder(step.arguments[origin.name]) ?? ""}/${value}` : value,
    }));
    if (values.length === 0) return [];
    lists.push({ name, values });
  }
  const longest = lists.toSorted((a, b) => b.values.length - a.values.length)[0];
  if (!longest) return [{ arguments: Object.fromEntries(fixed), index: 0, count: 1 }];
  const count = longest.values.length;
  return longest.values.slice(0, MOST_ITEMS).map(({ first }, index) => ({
    arguments: Object.fromEntries([
      ...fixed,
      ...lists.map(({ name, values }): [string, Json] => [
        name,
        (values.length === count ? values[index]! : values.find((one) => one.first === first) ?? values[0]!).value,
      ]),
    ]),
    index,
    count,
  }));
}

function itemsAt({ leaves = [] }: PastCall, path: readonly Step[]): { first: number; value: Json }[] {
  const seen = new Set<string | number>();
  return leaves.flatMap((leaf) => {
    if (leaf.path.length !== path.length || seen.has(leaf.value)) return [];
    const fits = leaf.path.every((step, i) => path[i] === ANY ? typeof step === "number" : step === path[i]);
    if (!fits) return [];
    seen.add(leaf.value);
    return [{ first: leaf.path.find((step) => typeof step === "number") as number ?? 0, value: leaf.value }];
  });
}

/** A short value may be the same by chance: it tells something only where the names fit. */
function isTelling(name: string, value: string | number, path: readonly Step[]): boolean {
  if (typeof value === "string" ? value.length >= 4 : Math.abs(value) >= 100) return true;
  return value !== "" && sharesWord(name, path);
}

function sharesWord(name: string, path: readonly Step[]): boolean {
  const last = path.findLast((step) => typeof step === "string");
  const wanted = new Set(terms(name));
  return last !== undefined && terms(String(last)).some((word) => wanted.has(word));
}

/** True where the name of an argument fits the name of the value that it is filled with. */
export function namesFit({ arguments: origins }: Template): boolean {
  return Object.entries(origins).every(([name, origin]) => !("path" in origin) || sharesWord(name, origin.path));
}

/** True for a template that takes nothing from other calls. */
export function isConstant({ arguments: origins }: Template): boolean {
  return Object.values(origins).every(({ kind }) => kind === "constant");
}

/** True if every value goes to the server that it came from: no user has allowed another way yet. */
export function staysAtHome({ tool, arguments: origins }: Template): boolean {
  const { server } = splitToolId(tool);
  return Object.values(origins).every((origin) =>
    origin.kind === "constant" || splitToolId(origin.of).server === server
  );
}
