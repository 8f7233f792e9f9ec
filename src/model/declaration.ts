import { type Field, schemaType, type Type } from "./schema_type.ts";
import { oneLine } from "./text.ts";
import type { Tool } from "./tool.ts";

const DEPTH = 8;
const DOC_LENGTH = 400;
const SHOWN_VALUES = 40;
const LITERAL_LENGTH = 200;

/** Tools as `.d.ts` text: one object per server, one method per tool. Whoever has the methods already gives them. */
export function declarations(tools: readonly Tool[], method: (tool: Tool) => string = declaredMethod): string {
  return [...Map.groupBy(tools, ({ server }) => server)]
    .map(([server, listed]) => `declare const ${identifier(server)}: {\n${listed.map(method).join("\n")}\n};`)
    .join("\n\n");
}

/** All tools by their full names, for tools that `declarations` has declared; of other servers anything is taken. */
export function toolsDeclaration(tools: readonly Tool[], others: readonly string[]): string {
  const known = tools.map(({ id, server, name }) =>
    `  ${JSON.stringify(id)}: (typeof ${identifier(server)})[${JSON.stringify(name)}];`
  );
  const names = Map.groupBy(tools, ({ name }) => name);
  // A bare name that only one server has is enough to call it.
  const bare = [...names].filter(([, same]) => same.length === 1).map(([name, [tool]]) =>
    `  ${JSON.stringify(name)}: (typeof ${identifier(tool!.server)})[${JSON.stringify(name)}];`
  );
  const open = others.map((server) => `  [other: \`${server}:\${string}\`]: (input?: object) => Promise<any>;`);
  return `declare const tools: {\n${[...known, ...bare, ...open].join("\n")}\n};`;
}

/** A name as code can write it: what no identifier may contain becomes `_`. */
export function identifier(name: string): string {
  const clean = name.replace(/[^A-Za-z0-9_$]/g, "_");
  return /^[0-9]/.test(clean) || RESERVED.has(clean) ? `_${clean}` : clean;
}

const RESERVED = new Set(
  ("await break case catch class const continue debugger default delete do else enum export extends false finally for " +
    "function if import in instanceof new null return super switch this throw true try typeof var void while with yield let static implements interface package " +
    "private protected public arguments eval")
    .split(" "),
);

/** A tool as a method of its server's declaration. */
export function declaredMethod(tool: Tool): string {
  const input = schemaType({ ...tool.inputSchema, type: "object" }, DEPTH);
  const isOptional = input.kind === "name" ||
    (input.kind === "object" && input.fields.every(({ isRequired }) => !isRequired));
  // What a schema does not tell of a result is for the code to know.
  const output = tool.outputSchema ? typeText(schemaType(tool.outputSchema, DEPTH), 1, "any") : "any";
  const argument = input.kind === "name" ? "{}" : typeText(input, 1);
  return `${comment(tool.description || tool.title || "", 1)}  ${propertyName(tool.name)}(input${
    isOptional ? "?" : ""
  }: ${argument}): Promise<${output}>;`;
}

function typeText(type: Type, level: number, unknown = "unknown"): string {
  switch (type.kind) {
    case "name":
      return type.name === "object" ? `Record<string, ${unknown}>` : type.name === "unknown" ? unknown : type.name;
    case "literals": {
      const shown = type.values.slice(0, SHOWN_VALUES).map(literal);
      return (type.values.length > SHOWN_VALUES ? [...shown, "unknown /* and more */"] : shown).join(" | ") || "never";
    }
    case "array":
      return `Array<${typeText(type.item, level, unknown)}>`;
    case "record":
      return `Record<string, ${typeText(type.value, level, unknown)}>`;
    case "object": {
      const inner = level + 1;
      const open = type.isOpen ? [`${"  ".repeat(inner)}[key: string]: any;`] : [];
      const lines = [...type.fields.map((field) => fieldText(field, inner, unknown)), ...open];
      return `{\n${lines.join("\n")}\n${"  ".repeat(level)}}`;
    }
    case "union":
      return type.of.map((member) => typeText(member, level, unknown)).join(" | ");
    case "intersection":
      return type.of.map((member) => `(${typeText(member, level, unknown)})`).join(" & ");
  }
}

/** As it is, unless it hides something or is too long to be one. */
function literal(value: unknown): string {
  const text = JSON.stringify(value) ?? "unknown";
  return text.length <= LITERAL_LENGTH && oneLine(text) === text ? text : "string";
}

function fieldText(field: Field, level: number, unknown: string): string {
  const preset = field.default === undefined
    ? ""
    : `Default: ${oneLine(JSON.stringify(field.default), LITERAL_LENGTH)}.`;
  const doc = comment([field.description ?? "", preset].filter(Boolean).join(" "), level);
  const name = `${propertyName(field.name)}${field.isRequired ? "" : "?"}`;
  return `${doc}${"  ".repeat(level)}${name}: ${typeText(field.type, level, unknown)};`;
}

function comment(text: string, level: number): string {
  // A description must not be able to end its comment.
  const line = oneLine(text, DOC_LENGTH).replaceAll("*/", "* /");
  return line ? `${"  ".repeat(level)}/** ${line} */\n` : "";
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]{0,99}$/.test(name) ? name : JSON.stringify(oneLine(name, 100));
}
