import { schemaType, type Type } from "./schema_type.ts";
import { cut, oneLine } from "./text.ts";
import type { Tool } from "./tool.ts";

const DEPTH = 4;
const SHOWN_VALUES = 8;
/** Whatever a server lists, one tool must not fill an answer. */
const PARAMETERS_LENGTH = 2_000;

/** `github:create_issue(owner: string, title: string, state?: "open"|"closed" = "open") — Creates an issue` */
export function signature(tool: Tool, descriptionLength = 160): string {
  const description = oneLine(tool.description || tool.title || "", descriptionLength);
  const input = schemaType({ ...tool.inputSchema, type: "object" }, DEPTH);
  const parameters = input.kind === "object" ? fieldsText(input) : input.kind === "name" ? "" : typeText(input);
  return `${tool.id}(${cut(parameters, PARAMETERS_LENGTH)})${description ? ` — ${description}` : ""}`;
}

function fieldsText({ fields }: Type & { kind: "object" }): string {
  return fields.map((field) => {
    const preset = field.default === undefined ? "" : ` = ${literal(field.default)}`;
    return `${oneLine(field.name, 64)}${field.isRequired ? "" : "?"}: ${typeText(field.type)}${preset}`;
  }).join(", ");
}

/** A type in the manner of TypeScript, in one line. */
export function typeText(type: Type): string {
  switch (type.kind) {
    case "name":
      return type.name;
    case "literals":
      return literalsText(type.values);
    case "array": {
      const item = typeText(type.item);
      return /[|&{ ]/.test(item) ? `Array<${item}>` : `${item}[]`;
    }
    case "record":
      return `Record<string, ${typeText(type.value)}>`;
    case "object":
      return `{${fieldsText(type)}}`;
    case "union":
      return [...new Set(type.of.map(typeText))].join(" | ");
    case "intersection":
      return type.of.map(typeText).join(" & ");
  }
}

/** The values a parameter can take; of very many the first few. */
function literalsText(values: readonly unknown[]): string {
  const texts = values.slice(0, SHOWN_VALUES).map(literal);
  return (values.length > SHOWN_VALUES ? [...texts, "…"] : texts).join("|");
}

function literal(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? "unknown", 40);
}
