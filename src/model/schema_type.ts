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
/** References can name each other: whatever a server lists, the reading ends, and soon. */
const MAX_TYPES = 2_000;
const MAX_MEMBERS = 8;
/** No reader shows more values than these, longer ones whole, or more of a description. */
const MAX_VALUES = 41;
const LITERAL_LENGTH = 256;
const DESCRIPTION_LENGTH = 2_000;
/** So many entries of a list or a record cost as much to walk through as one type. */
const ENTRIES_PER_TYPE = 50;
const VALUES_PER_TYPE = 4;
const LONGEST_REFERENCE = 500;

/** The type a schema describes, `depth` levels deep; what lies deeper is just an object. */
export function schemaType(schema: JsonObject, depth: number): Type {
  let budget = MAX_TYPES;
  // Equal types are one object, so that members of a union are compared without writing them out on every level.
  const types = new Map<string, Type>();
  const numbers = new Map<Type, number>();
  const same = (type: Type): Type => {
    const key = JSON.stringify(type, (_, part) => numbers.get(part) ?? part);
    const known = types.getOrInsert(key, type);
    numbers.set(known, numbers.get(known) ?? numbers.size);
    return known;
  };
  return read(schema, depth);

  function read(value: unknown, left: number): Type {
    if (budget-- <= 0 || !isObject(value) || left < 0) return UNKNOWN;
    if (typeof value.$ref === "string") return read(schemaAt(value.$ref, schema), left - 1);
    if (Array.isArray(value.enum)) return literals(value.enum);
    if ("const" in value) return literals([value.const]);
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
      const known = value.type.slice(0, MAX_MEMBERS);
      const types = new Set(known.filter((type) => type === "array" || type === "object" || isName(type)));
      return union([...types].map((type) => read({ ...value, type }, left)));
    }
    if (isName(value.type)) return same({ kind: "name", name: NAMES[value.type]! });
    if (value.type === "array") return same({ kind: "array", item: read(value.items, left - 1) });
    return value.type === "object" || isObject(value.properties) ? object(value, left) : UNKNOWN;
  }

  function object(value: Record<string, unknown>, left: number): Type {
    const entries = Object.entries(isObject(value.properties) ? value.properties : {});
    if (left <= 0) return OBJECT;
    if (entries.length === 0) {
      return isObject(value.additionalProperties) && Object.keys(value.additionalProperties).length > 0
        ? same({ kind: "record", value: read(value.additionalProperties, left - 1) })
        : OBJECT;
    }
    const isOpen = value.additionalProperties === true || isObject(value.additionalProperties);
    return same({ kind: "object", fields: fieldsOf(value, entries, left), ...isOpen && { isOpen } });
  }

  function literals(values: readonly unknown[]): Type {
    const shown = values.slice(0, MAX_VALUES);
    budget -= shown.length / VALUES_PER_TYPE;
    return same({ kind: "literals", values: shown.map(short) });
  }

  function fieldsOf(value: Record<string, unknown>, entries: [string, unknown][], left: number): Field[] {
    const named = Array.isArray(value.required) ? value.required : [];
    budget -= (entries.length + named.length) / ENTRIES_PER_TYPE;
    const required = new Set(named);
    const isRequired = ([name]: [string, unknown]) => required.has(name);
    // Those that must be given come first, also where there are more than can be read.
    const ordered = [...entries.filter(isRequired), ...entries.filter((entry) => !isRequired(entry))];
    return ordered.slice(0, Math.max(1, budget)).map(([name, property]) => ({
      name,
      type: read(property, left - 1),
      isRequired: required.has(name),
      ...isObject(property) && typeof property.description === "string" && {
        description: property.description.slice(0, DESCRIPTION_LENGTH),
      },
      ...isObject(property) && property.default !== undefined && { default: short(property.default) },
    }));
  }

  function union(members: readonly Type[]): Type {
    return join("union", members);
  }

  /** Equal members count once; a single one stands for itself. */
  function join(kind: "union" | "intersection", members: readonly Type[]): Type {
    const distinct = [...new Set(members.map(same))];
    return distinct.length > 1 ? same({ kind, of: distinct }) : distinct[0] ?? UNKNOWN;
  }
}

/** A value that readers may write out: a long one is cut where it is a text, else left out. */
function short(value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, LITERAL_LENGTH);
  if (typeof value !== "object" || value === null) return value;
  return JSON.stringify(value).length <= LITERAL_LENGTH ? value : undefined;
}

function isName(type: unknown): type is string {
  return typeof type === "string" && Object.hasOwn(NAMES, type);
}

/** The schema that `#/$defs/thing` points to; references to other documents are not followed. */
export function schemaAt(reference: string, root: JsonObject): unknown {
  if (!reference.startsWith("#/") || reference.length > LONGEST_REFERENCE) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    at = typeof at === "object" && at !== null && Object.hasOwn(at, key)
      ? (at as Record<string, Json>)[key]
      : undefined;
  }
  return at;
}
