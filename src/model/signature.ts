import { isObject, type JsonObject } from "./json.ts";
import { cut, oneLine } from "./text.ts";
import type { Tool } from "./tool.ts";

/** `github:create_issue(owner: string, title: string, body?: string) — Creates an issue` */
export function signature(tool: Tool, descriptionLength = 160): string {
  const description = oneLine(tool.description || tool.title || "", descriptionLength);
  return `${tool.id}(${cut(parameters(tool.inputSchema), PARAMETERS_LENGTH)})${description ? ` — ${description}` : ""}`;
}

/** The parameters of a tool, required ones first, as TypeScript would write them. */
function parameters(schema: JsonObject): string {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const all = Object.entries(isObject(schema.properties) ? schema.properties : {});
  const ordered = [...all.filter(([name]) => required.has(name)), ...all.filter(([name]) => !required.has(name))];
  return ordered
    .map(([name, type]) => `${oneLine(name, 64)}${required.has(name) ? "" : "?"}: ${typeText(type, DEPTH)}`)
    .join(", ");
}

const DEPTH = 3;
const SHOWN_VALUES = 8;
/** Whatever a server lists, one tool must not fill an answer. */
const PARAMETERS_LENGTH = 2_000;
const TYPES = new Set<unknown>(["string", "number", "integer", "boolean", "null", "array", "object"]);

function typeText(schema: unknown, depth: number): string {
  if (!isObject(schema)) return "unknown";
  if (Array.isArray(schema.enum)) return literals(schema.enum);
  if ("const" in schema) return literals([schema.const]);
  const union = [schema.anyOf, schema.oneOf].find(Array.isArray) as unknown[] | undefined;
  if (union) return unique(union.slice(0, SHOWN_VALUES).map((item) => typeText(item, depth - 1))).join(" | ");
  if (Array.isArray(schema.type)) {
    // Each known type once: a list that repeats itself on every level would take for ever.
    const types = new Set(schema.type.filter((type) => TYPES.has(type)));
    return unique([...types].map((type) => typeText({ ...schema, type }, depth))).join(" | ") || "unknown";
  }
  switch (schema.type) {
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "array":
      return arrayText(schema.items, depth);
    case "object":
      return objectText(schema, depth);
    default:
      return isObject(schema.properties) ? objectText(schema, depth) : "unknown";
  }
}

function arrayText(items: unknown, depth: number): string {
  const item = typeText(items, depth - 1);
  return /[|{ ]/.test(item) ? `Array<${item}>` : `${item}[]`;
}

function objectText(schema: Record<string, unknown>, depth: number): string {
  if (depth <= 0 || !isObject(schema.properties) || Object.keys(schema.properties).length === 0) return "object";
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields = Object.entries(schema.properties)
    .map(([name, type]) => `${oneLine(name, 64)}${required.has(name) ? "" : "?"}: ${typeText(type, depth - 1)}`);
  return `{${fields.join(", ")}}`;
}

function literals(values: readonly unknown[]): string {
  const shown = values.slice(0, SHOWN_VALUES).map((value) => oneLine(JSON.stringify(value) ?? "unknown", 40));
  return (values.length > SHOWN_VALUES ? [...shown, "…"] : shown).join("|");
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
