import { meant } from "./coerce.ts";
import { isObject, type JsonObject } from "./json.ts";
import { schemaAt } from "./schema_type.ts";
import { oneLine } from "./text.ts";
import type { Tool } from "./tool.ts";

/** Values and schemas beyond these are not looked at: a call does not wait for a long walk, and references can be endless. */
const MOST_STEPS = 10_000;
const MAX_DEPTH = 16;
const MAX_NESTED = 6;

/** One of the types that a schema allows, with the schema that says so; without a type anything may be meant. */
interface Choice {
  readonly type?: string;
  readonly schema: Record<string, unknown>;
}

/** Arguments with texts read as the JSON they hold, wherever a schema wants something else than a text. */
export function readBySchema<T extends Record<string, unknown>>(args: T, root: JsonObject): T {
  let left = MOST_STEPS;
  return fields(args, root, 0) as T;

  function read(value: unknown, schema: unknown, depth: number): unknown {
    if (value === null || typeof value === "number" || typeof value === "boolean") return value;
    if (left-- <= 0 || depth > MAX_DEPTH || !isObject(schema)) return value;
    if (typeof value === "string" && schema.type === "string") return value;
    const choices = choicesOf(schema, 0);
    if (typeof value === "string") {
      if (choices.some(({ type }) => type === undefined || type === "string")) return value;
      const found = choices.map(({ type }) => meant(value, type!)).find((meaning) => meaning !== undefined);
      return found ? read(found.value, schema, depth + 1) : value;
    }
    const fitting = choices.filter(({ type }) => type === (Array.isArray(value) ? "array" : "object"));
    // Of several only the server knows which one is meant.
    if (fitting.length !== 1) return value;
    const [{ schema: chosen }] = fitting as [Choice];
    return Array.isArray(value) ? items(value, chosen, depth) : fields(value as Record<string, unknown>, chosen, depth);
  }

  function items(list: readonly unknown[], { items }: Record<string, unknown>, depth: number): readonly unknown[] {
    const changed = isObject(items) ? list.map((item) => read(item, items, depth + 1)) : list;
    return changed.some((item, at) => item !== list[at]) ? changed : list;
  }

  function fields(record: Record<string, unknown>, schema: Record<string, unknown>, depth: number) {
    const { properties, additionalProperties } = schema;
    const named = isObject(properties) ? properties : {};
    const changed = Object.entries(record).flatMap(([name, value]) => {
      const meaning = read(value, Object.hasOwn(named, name) ? named[name] : additionalProperties, depth + 1);
      return meaning === value ? [] : [[name, meaning] as const];
    });
    return changed.length === 0 ? record : { ...record, ...Object.fromEntries(changed) };
  }

  function choicesOf(schema: unknown, depth: number): readonly Choice[] {
    if (!isObject(schema) || depth > MAX_NESTED || left-- <= 0) return [{ schema: {} }];
    const { $ref, allOf, anyOf, oneOf, type } = schema;
    if (typeof $ref === "string") return choicesOf(schemaAt($ref, root), depth + 1);
    if (Array.isArray(allOf) && allOf.length === 1) return choicesOf(allOf[0], depth + 1);
    const either = anyOf ?? oneOf;
    if (Array.isArray(either)) return either.flatMap((one) => choicesOf(one, depth + 1));
    const types = Array.isArray(type) ? type : [type];
    return types.map((one) => typeof one === "string" ? { type: one, schema } : { schema });
  }
}

/** The mistake in an argument whose name differs from a declared one in spelling only; schemas often allow any name. */
export function misspelt(
  { inputSchema }: Pick<Tool, "inputSchema">,
  args: Record<string, unknown>,
): string | undefined {
  const { properties } = inputSchema;
  if (!isObject(properties)) return undefined;
  const unknown = Object.keys(args).filter((name) => !Object.hasOwn(properties, name));
  if (unknown.length === 0) return undefined;
  const free = Object.keys(properties).filter((name) => !Object.hasOwn(args, name));
  const known = new Map(free.map((name) => [plainName(name), name]));
  for (const name of unknown) {
    const other = known.get(plainName(name));
    if (other !== undefined) return `arguments.${oneLine(name, 60)} is not known; did you mean ${oneLine(other, 60)}?`;
  }
  return undefined;
}

const plainName = (name: string) => name.replace(/[_-]/g, "").toLowerCase();
