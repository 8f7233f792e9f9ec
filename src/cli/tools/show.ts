import type { JudgedTool } from "../../control/mod.ts";
import { type Field, type Json, oneLine, sanitise, schemaType, typeText } from "../../model/mod.ts";
import { screen, wrap } from "../screen/screen.ts";
import { table } from "../screen/table.ts";
import { painter, type Terminal } from "../screen/terminal.ts";

const DEPTH = 3;
const COLUMNS_IN_A_FILE = 100;
const LONGEST_DESCRIPTION = 4_000;

/** One tool as a person reads it: what it does, its arguments, an example call. */
export function toolText(tool: JudgedTool, { color, isTerminal }: Terminal): string {
  const paint = painter(color);
  const columns = isTerminal ? screen().columns : COLUMNS_IN_A_FILE;
  const about = sanitise(tool.description || tool.title || "").slice(0, LONGEST_DESCRIPTION);
  const lines = about.split("\n").flatMap((line) => wrap(line.trim(), columns)).join("\n").trim();
  const fields = fieldsOf(tool);
  const rows = fields.map((field) => [
    oneLine(field.name, 40),
    oneLine(typeText(field.type), 60),
    field.isRequired ? "yes" : "",
    [field.description ?? "", field.default === undefined ? "" : `(default ${JSON.stringify(field.default)})`].join(" ")
      .trim(),
  ]);
  const head = ["argument", "type", "needed", "what it is"];
  return [
    `${paint("bold", tool.id)}  ${EFFECTS[tool.effect]}; ${VERDICTS[tool.policy]}${
      tool.clients ? `; for ${onlyFor(tool.clients)}` : ""
    }`,
    ...lines === "" ? [] : ["", lines],
    "",
    rows.length === 0
      ? "It takes no arguments."
      : table([head, ...rows.map((row) => row.map((cell) => oneLine(cell, 400)))], {
        paint: (text) => paint("bold", text),
        isWrapped: true,
      }).trimEnd(),
    "",
    exampleCall(tool.id, fields),
    "",
  ].join("\n");
}

const EFFECTS = { read: "reads only", idempotent: "changes things, harmless to repeat", effectful: "changes things" };
const VERDICTS = { allow: "allowed", approve: "asks you each time", deny: "not allowed by policy" };

/** The clients that see something, in words. */
export function onlyFor(clients: readonly string[]): string {
  return clients.length === 0 ? "no client" : `${clients.join(", ")} only`;
}

function fieldsOf({ inputSchema }: JudgedTool): readonly Field[] {
  const type = schemaType({ ...inputSchema, type: "object" }, DEPTH);
  return type.kind === "object" ? type.fields : [];
}

/** A call with a value for each argument that is needed, quoted for a shell. */
function exampleCall(id: string, fields: readonly Field[]): string {
  const given = Object.fromEntries(
    fields.filter(({ isRequired }) => isRequired).map((field) => [field.name, exampleOf(field)]),
  );
  const text = Object.keys(given).length === 0 ? "" : ` '${JSON.stringify(given).replaceAll("'", `'\\''`)}'`;
  return `agentcards call ${id}${text}`;
}

function exampleOf({ name, type, default: usual }: Field): Json {
  if (usual !== undefined) return usual as Json;
  switch (type.kind) {
    case "literals":
      return type.values[0] as Json;
    case "array":
      return [exampleOf({ name, type: type.item, isRequired: true })];
    case "object":
      return Object.fromEntries(
        type.fields.filter(({ isRequired }) => isRequired).map((field) => [field.name, exampleOf(field)]),
      );
    case "union":
      return exampleOf({ name, type: type.of[0]!, isRequired: true });
    case "name":
      return type.name === "number"
        ? 1
        : type.name === "boolean"
        ? true
        : type.name === "string"
        ? exampleText(name)
        : {};
    default:
      return {};
  }
}

const TEXTS: readonly (readonly [RegExp, string])[] = [
  [/url|uri|link/i, "https://example.com/"],
  [/path|file/i, "README.md"],
  [/dir|folder/i, "."],
  [/date|since|until/i, "2026-01-31"],
  [/e?mail/i, "a@example.com"],
];

function exampleText(name: string): string {
  return TEXTS.find(([pattern]) => pattern.test(name))?.[1] ?? "…";
}
