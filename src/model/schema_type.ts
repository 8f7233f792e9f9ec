import { isObject, type Json, type JsonObject } from "./json.ts";

/** A JSON Schema as a type, ready to be written in the manner of TypeScript. */
export type Type =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "literals"; readonly values: readonly unknown[] }
  | { readonly kind: "array"; readonly item: Type }
  | { readonly kind: "record"; readonly value: Type }
  /** `isOpen`: it may have fields that are not named. */
  | { readonly kind: "object"; readonly fields: readonly Field[]; readonly isOpen?: boolean }
  | { readonly kind: "union" | "intersection"; readonly of: readonly Type[] };

export interface Field {
  readonly name: string;
  readonly type: Type;
  readonly isRequired: boolean;
  readonly description?: string;
  readonly default?: unknown;
}

const UNKNOWN: Type = { kind: "name", name: "unknown" };
const OBJECT: Type = { kind: "name", name: "object" };
const NAMES: Readonly<Record<string, string>> = {
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  null: "null",
};
/** References can name each other: whatever a server lists, the reading ends. */
const MAX_TYPES = 2_000;
const MAX_MEMBERS = 8;

/** The type a schema describes, `depth` levels deep; what lies deeper is just an object. */
export function schemaType(schema: JsonObject, depth: number): Type {
  let budget = MAX_TYPES;
  return read(schema, depth);

  function read(value: unknown, left: number): Type {
    if (budget-- <= 0 || !isObject(value) || left < 0) return UNKNOWN;
    if (typeof value.$ref === "string") return read(schemaAt(value.$ref, schema), left - 1);
    if (Array.isArray(value.enum)) return { kind: "literals", values: value.enum };
    if ("const" in value) return { kind: "literals", values: [value.const] };
    const either = [value.anyOf, value.oneOf].find(Array.isArray) as unknown[] | undefined;
    if (either) {
      const members = either.slice(0, MAX_MEMBERS).map((member) => read(member, left - 1));
      return union(either.length > MAX_MEMBERS ? [...members, UNKNOWN] : members);
    }
    if (Array.isArray(value.allOf)) {
      const members = value.allOf.slice(0, MAX_MEMBERS).map((member) => read(member, left - 1));
      return join("intersection", isObject(value.properties) ? [object(value, left), ...members] : members);
    }
    if (Array.isArray(value.type)) {
      // Each known type once: a list that repeats itself on every level would take for ever.
      const types = new Set(value.type.filter((type) => type === "array" || type === "object" || isName(type)));
      return union([...types].map((type) => read({ ...value, type }, left)));
    }
    if (isName(value.type)) return { kind: "name", name: NAMES[value.type]! };
    if (value.type === "array") return { kind: "array", item: read(value.items, left - 1) };
    return value.type === "object" || isObject(value.properties) ? object(value, left) : UNKNOWN;
  }

  function object(value: Record<string, unknown>, left: number): Type {
    const entries = Object.entries(isObject(value.properties) ? value.properties : {});
    if (left <= 0) return OBJECT;
    if (entries.length === 0) {
      return isObject(value.additionalProperties) && Object.keys(value.additionalProperties).length > 0
        ? { kind: "record", value: read(value.additionalProperties, left - 1) }
        : OBJECT;
    }
    const isOpen = value.additionalProperties === true || isObject(value.additionalProperties);
    return { kind: "object", fields: fieldsOf(value, entries, left), ...isOpen && { isOpen } };
  }

  function fieldsOf(value: Record<string, unknown>, entries: [string, unknown][], left: number): Field[] {
    const required = new Set(Array.isArray(value.required) ? value.required : []);
    const isRequired = ([name]: [string, unknown]) => required.has(name);
    // Those that must be given come first, also where there are more than can be read.
    return [...entries.filter(isRequired), ...entries.filter((entry) => !isRequired(entry))].map((
      [name, property],
    ) => ({
      name,
      type: read(property, left - 1),
      isRequired: required.has(name),
      ...isObject(property) && typeof property.description === "string" && { description: property.description },
      ...isObject(property) && property.default !== undefined && { default: property.default },
    }));
  }
}

function isName(type: unknown): type is string {
  return typeof type === "string" && Object.hasOwn(NAMES, type);
}

function union(members: readonly Type[]): Type {
  return join("union", members);
}

/** Equal members count once; a single one stands for itself. */
function join(kind: "union" | "intersection", members: readonly Type[]): Type {
  const distinct = [...new Map(members.map((member) => [JSON.stringify(member), member])).values()];
  return distinct.length > 1 ? { kind, of: distinct } : distinct[0] ?? UNKNOWN;
}

/** What `#/$defs/thing` points to; references to other documents are not followed. */
export function schemaAt(reference: string, root: JsonObject): unknown {
  if (!reference.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    at = typeof at === "object" && at !== null && Object.hasOwn(at, key)
      ? (at as Record<string, Json>)[key]
      : undefined;
  }
  return at;
}
