import { isObject, type JsonObject } from "./json.ts";
import { oneLine } from "./text.ts";
import type { Tool } from "./tool.ts";

/** `github:create_issue(owner: string, title: string, body?: string) — Creates an issue` */
export function signature(tool: Tool, descriptionLength = 160): string {
  const description = oneLine(tool.description || tool.title || "", descriptionLength);
  return `${tool.id}(${parameters(tool.inputSchema)})${description ? ` — ${description}` : ""}`;
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

function typeText(schema: unknown, depth: number): string {
  if (!isObject(schema)) return "unknown";
  if (Array.isArray(schema.enum)) return literals(schema.enum);
  if ("const" in schema) return literals([schema.const]);
  const union = [schema.anyOf, schema.oneOf].find(Array.isArray) as unknown[] | undefined;
  if (union) return unique(union.slice(0, SHOWN_VALUES).map((item) => typeText(item, depth - 1))).join(" | ");
  if (Array.isArray(schema.type)) {
    return unique(schema.type.map((type) => typeText({ ...schema, type }, depth))).join(" | ");
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
