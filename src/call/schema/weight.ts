import { isObject, type JsonObject, schemaAt } from "../../model/mod.ts";

const MAX_DEPTH = 48;
/** Characters of a text that take as long to check as one value. */
const TEXT_STEP = 64;

const weights = new WeakMap<JsonObject, number>();

/**
 * The number of parts of a schema with its references filled in; Infinity when it contains itself or nests too deeply.
 * A few lines that refer to each other twice each would keep a validator busy for ever.
 */
export function weightOf(schema: JsonObject): number {
  const known = weights.get(schema);
  if (known !== undefined) return known;
  const weight = unfolded(schema);
  weights.set(schema, weight);
  return weight;
}

function unfolded(root: JsonObject): number {
  const known = new Map<unknown, number>();
  const open = new Set<unknown>();
  const count = (node: unknown, depth: number): number => {
    if (typeof node !== "object" || node === null) return 0;
    if (depth > MAX_DEPTH || open.has(node)) return Infinity;
    const before = known.get(node);
    if (before !== undefined) return before;
    open.add(node);
    let sum = 1;
    if (Array.isArray(node)) {
      // Values of an enum are compared one by one.
      for (const item of node) sum += typeof item === "object" ? count(item, depth + 1) : 0.25;
    } else {
      for (const [key, value] of Object.entries(node)) {
        if (key === "$defs" || key === "definitions") continue;
        sum += key === "$ref" || key === "$dynamicRef"
          ? count(target(root, value), depth + 1)
          : count(value, depth + 1);
      }
    }
    open.delete(node);
    known.set(node, sum);
    return sum;
  };
  return count(root, 0);
}

function target(root: JsonObject, reference: unknown): unknown {
  if (reference === "#") return root;
  try {
    return typeof reference === "string" ? schemaAt(decodeURIComponent(reference), root) : undefined;
  } catch {
    return undefined;
  }
}

/** The number of parts of a value, long texts counted by their length; the counting ends above `most`. */
export function valueWeight(value: unknown, most: number): number {
  let sum = 0;
  const count = (part: unknown): void => {
    sum += typeof part === "string" ? 1 + part.length / TEXT_STEP : 1;
    if (sum > most) return;
    if (Array.isArray(part)) {
      for (const item of part) if (sum <= most) count(item);
    } else if (isObject(part)) {
      for (const key in part) if (sum <= most) count(part[key]);
    }
  };
  count(value);
  return sum;
}
