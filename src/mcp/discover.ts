import type { Limits } from "../config/schema.ts";
import { canonicalJson, isObject, type JsonObject, sha256 } from "../model/json.ts";
import { cut, oneLine, sanitise } from "../model/text.ts";
import { type Catalogue, type Tool, toolId, type ToolNote } from "../model/tool.ts";

const encoder = new TextEncoder();
const MAX_DESCRIPTION = 16_384;
const NAME = /^[\x21-\x7e]{1,128}$/;

/**
 * Takes a server's raw tool list, tool by tool: one that cannot be used is dropped, one that can be mended is, and both
 * are said. Nothing here may throw on foreign data.
 */
export async function readTools(
  server: string,
  raw: readonly unknown[],
  limits: Pick<Limits, "tools_per_server" | "definition_bytes">,
): Promise<Catalogue> {
  const tools = new Map<string, Tool>();
  const dropped: ToolNote[] = [];
  const repaired: ToolNote[] = [];
  if (raw.length > limits.tools_per_server) {
    const why = `the server lists ${raw.length} tools; limits.tools_per_server is ${limits.tools_per_server}`;
    dropped.push({ tool: "*", why });
  }
  for (const item of raw.slice(0, limits.tools_per_server)) {
    const label = isObject(item) && typeof item.name === "string" ? oneLine(item.name, 128) : "(no name)";
    const mended: string[] = [];
    const reason = unusable(item, limits.definition_bytes) ??
      (tools.has(label) ? "the server lists this name twice" : undefined);
    if (reason) {
      dropped.push({ tool: label, why: reason });
      continue;
    }
    const tool = await readTool(server, item as Record<string, unknown>, mended);
    tools.set(tool.name, tool);
    if (mended.length > 0) repaired.push({ tool: label, why: mended.join("; ") });
  }
  return Object.freeze({ tools: Object.freeze([...tools.values()]), dropped, repaired });
}

/** Why a definition cannot be used at all. */
function unusable(item: unknown, maxBytes: number): string | undefined {
  if (!isObject(item)) return "the definition is not an object";
  if (typeof item.name !== "string" || !NAME.test(item.name)) {
    return "the name is missing or not 1 to 128 visible ASCII characters";
  }
  const size = encoder.encode(JSON.stringify(item)).length;
  if (size > maxBytes) return `the definition has ${size} bytes; limits.definition_bytes is ${maxBytes}`;
  const schema = item.inputSchema;
  if (schema !== undefined && !isObject(schema)) return "inputSchema is not an object";
  if (isObject(schema) && schema.type !== undefined && schema.type !== "object") {
    return `inputSchema has type ${oneLine(JSON.stringify(schema.type), 40)} instead of "object"`;
  }
}

async function readTool(server: string, given: Record<string, unknown>, mended: string[]): Promise<Tool> {
  const raw = storable(given);
  if (raw !== given) mended.push("NUL or broken characters were taken out");
  const name = raw.name as string;
  const described = typeof raw.description === "string" ? raw.description : "";
  const description = cut(sanitise(described), MAX_DESCRIPTION);
  if (described !== description) mended.push("hidden characters or excess length were taken out of the description");
  let inputSchema = raw.inputSchema as JsonObject | undefined;
  if (inputSchema === undefined) mended.push("inputSchema was missing");
  else if (inputSchema.type === undefined) mended.push('inputSchema had no type; "object" was added');
  inputSchema = { ...inputSchema, type: "object" };
  const outputSchema = isObject(raw.outputSchema) ? raw.outputSchema as JsonObject : undefined;
  if (raw.outputSchema !== undefined && !outputSchema) mended.push("outputSchema was not an object and was left out");
  return Object.freeze({
    id: toolId(server, name),
    server,
    name,
    ...typeof raw.title === "string" && { title: oneLine(raw.title, 200) },
    description,
    inputSchema,
    ...outputSchema && { outputSchema },
    ...isObject(raw.annotations) && { annotations: raw.annotations as JsonObject },
    hash: await sha256(canonicalJson(given)),
  });
}

/** The same without NUL and half surrogates: one of them, and the database refuses the whole list. */
function storable(definition: Record<string, unknown>): Record<string, unknown> {
  const text = JSON.stringify(definition);
  const clean = text.replace(/\\(?:u0000|(ud[89a-f][0-9a-f]{2})|.)/g, (escape, half) => {
    if (half) return "\ufffd";
    return escape === "\\u0000" ? "" : escape;
  });
  return clean === text ? definition : JSON.parse(clean);
}
