import type { Limits } from "../config/mod.ts";
import {
  AgentCardsError,
  canonicalJson,
  type Catalogue,
  createBreather,
  cut,
  isObject,
  type JsonObject,
  type Offers,
  oneLine,
  sanitise,
  sha256,
  type Tool,
  toolId,
  type ToolNote,
  withoutInvisible,
} from "../model/mod.ts";
import { MAX_LIST_BYTES, MAX_OFFER_BYTES, MAX_PAGE_ENTRIES } from "./list_bounds.ts";
import type { Upstream } from "./upstream.ts";

const encoder = new TextEncoder();
const MAX_DESCRIPTION = 16_384;
const NAME = /^[\x21-\x7e]{1,128}$/;

type ListLimits = Pick<Limits, "tools_per_server" | "definition_bytes">;

const LIST_TIMEOUT_MS = 30_000;
const OFFER_TIMEOUT_MS = 3_000;
const MAX_PAGES = 64;

/** The lists of a server as it sent them. */
export interface ServerLists {
  readonly tools: readonly unknown[];
  readonly resources: readonly unknown[];
  readonly templates: readonly unknown[];
  readonly prompts: readonly unknown[];
  readonly instructions?: string | undefined;
}

/** Everything a server lists. Its tools must be readable; what else it offers is taken as far as it can be. */
export async function fetchLists(server: string, upstream: Upstream, limits: ListLimits): Promise<ServerLists> {
  const { capabilities, instructions } = upstream;
  const most = limits.tools_per_server;
  const list = (method: string, key: string) =>
    readPages(upstream, { method, key, most, mostBytes: MAX_LIST_BYTES, timeoutMs: LIST_TIMEOUT_MS });
  /** Reads a further list; a failure there does not lose the tools. */
  const also = async (isOffered: boolean, method: string, key: string) => {
    if (!isOffered) return [];
    const bounds = { most, mostBytes: MAX_OFFER_BYTES, timeoutMs: OFFER_TIMEOUT_MS };
    const raw = await readPages(upstream, { method, key, ...bounds }).catch(() => []);
    return typeof raw === "string" ? [] : raw;
  };
  const hasResources = isObject(capabilities.resources);
  const [tools, resources, templates, prompts] = await Promise.all([
    list("tools/list", "tools"),
    also(hasResources, "resources/list", "resources"),
    also(hasResources, "resources/templates/list", "resourceTemplates"),
    also(isObject(capabilities.prompts), "prompts/list", "prompts"),
  ]);
  const needsNoTools = capabilities.tools === undefined && offersMore(upstream);
  if (typeof tools === "string" && !needsNoTools) {
    throw new AgentCardsError("SERVER_UNREACHABLE", `Server "${server}" does not list its tools: ${tools}`);
  }
  return { tools: typeof tools === "string" ? [] : tools, resources, templates, prompts, instructions };
}

const offersMore = ({ capabilities }: Upstream) => isObject(capabilities.resources) || isObject(capabilities.prompts);

/** The lists of a server as the rest of the house knows them. `hashes`: those of the tools' definitions, by name. */
export async function readLists(
  server: string,
  lists: ServerLists & { readonly hashes?: ReadonlyMap<string, string> },
  { upstream, limits }: { readonly upstream: Upstream; readonly limits: ListLimits },
): Promise<Catalogue> {
  const { tools, resources, templates, prompts, instructions, hashes } = lists;
  const read = await readTools(server, tools, limits, { alsoUnusable: upstream.unusable, hashes });
  const offers: Offers = {
    resources: await entries(resources, "uri", limits),
    templates: await entries(templates, "uriTemplate", limits),
    prompts: await entries(prompts, "name", limits),
  };
  const about = instructions && cut(sanitise(instructions), MAX_DESCRIPTION);
  return Object.freeze({ ...read, ...about && { instructions: about }, ...offersMore(upstream) && { offers } });
}

interface Reading {
  readonly alsoUnusable?: Upstream["unusable"] | undefined;
  readonly hashes?: ReadonlyMap<string, string> | undefined;
}

interface ListRequest {
  readonly method: string;
  readonly key: string;
  readonly most: number;
  readonly mostBytes: number;
  readonly timeoutMs: number;
}

/** One list, page after page; or why it cannot be had. */
async function readPages(
  upstream: Upstream,
  { method, key, most, mostBytes, timeoutMs }: ListRequest,
): Promise<unknown[] | string> {
  const raw: unknown[] = [];
  let bytes = 0;
  let cursor: unknown;
  const breathe = createBreather();
  for (let page = 0; page < MAX_PAGES && raw.length <= most; page++) {
    const reply = await upstream.request(method, cursor ? { cursor } : {}, { timeoutMs });
    if (reply.kind !== "result") return reply.kind === "error" ? reply.message : "the list is too large";
    const items = Array.isArray(reply.result[key]) ? reply.result[key] : [];
    if (items.length > MAX_PAGE_ENTRIES) {
      return `the list is too long: a page has ${items.length} entries; the most is ${MAX_PAGE_ENTRIES}`;
    }
    for (const item of items) {
      await breathe();
      bytes += JSON.stringify(item)?.length ?? 0;
      if (bytes > mostBytes) return `the list is too long: it has more than ${mostBytes} bytes`;
      raw.push(item);
    }
    cursor = reply.result.nextCursor;
    if (typeof cursor !== "string" || cursor === "") break;
  }
  return raw;
}

/** The usable entries of a list, each once, without what nobody would see. */
async function entries(
  raw: readonly unknown[],
  key: "uri" | "uriTemplate" | "name",
  limits: ListLimits,
): Promise<JsonObject[]> {
  const found = new Map<string, JsonObject>();
  const breathe = createBreather();
  for (const item of raw.slice(0, limits.tools_per_server)) {
    await breathe();
    if (!isObject(item) || typeof item[key] !== "string" || item[key] === "" || item[key].length > 2_000) continue;
    if (encoder.encode(JSON.stringify(item)).length > limits.definition_bytes || found.has(item[key])) continue;
    // Its owner is asked for it to the letter, so a name that hides something cannot be mended.
    if (sanitise(item[key]) !== item[key]) continue;
    const entry = { ...withoutRemoteIcons(withoutInvisible(storable(item))) };
    for (const name of ["name", "title"]) if (typeof entry[name] === "string") entry[name] = oneLine(entry[name], 200);
    if (typeof entry.description === "string") entry.description = cut(entry.description, MAX_DESCRIPTION);
    entry[key] = item[key];
    found.set(item[key], entry as JsonObject);
  }
  return [...found.values()];
}

/**
 * Takes a server's raw tool list, tool by tool: one that cannot be used is dropped, one that can be mended is, and both
 * are said. Nothing here may throw on foreign data.
 */
export async function readTools(
  server: string,
  raw: readonly unknown[],
  limits: ListLimits,
  { alsoUnusable = () => undefined, hashes }: Reading = {},
): Promise<Catalogue> {
  const tools = new Map<string, Tool>();
  const dropped: ToolNote[] = [];
  const repaired: ToolNote[] = [];
  if (raw.length > limits.tools_per_server) {
    const why = `the server lists ${raw.length} tools; limits.tools_per_server is ${limits.tools_per_server}`;
    dropped.push({ tool: "*", why });
  }
  const breathe = createBreather();
  for (const item of raw.slice(0, limits.tools_per_server)) {
    await breathe();
    const label = isObject(item) && typeof item.name === "string" ? oneLine(item.name, 128) : "(no name)";
    const mended: string[] = [];
    const reason = unusable(item, limits.definition_bytes) ?? alsoUnusable(item as Record<string, unknown>) ??
      (tools.has(label) ? "the server lists this name twice" : undefined);
    if (reason) {
      dropped.push({ tool: label, why: reason });
      continue;
    }
    const tool = await readTool(server, item as Record<string, unknown>, { mended, hash: hashes?.get(label) });
    tools.set(tool.name, tool);
    if (mended.length > 0) repaired.push({ tool: label, why: mended.join("; ") });
  }
  return Object.freeze({ tools: Object.freeze([...tools.values()]), dropped, repaired });
}

/** The reason why a definition cannot be used at all. */
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

async function readTool(
  server: string,
  given: Record<string, unknown>,
  { mended, hash }: { readonly mended: string[]; readonly hash: string | undefined },
): Promise<Tool> {
  const stored = storable(given);
  if (stored !== given) mended.push("NUL or broken characters were taken out");
  const seen = withoutInvisible(stored);
  if (seen !== stored) mended.push(`hidden characters were taken out of ${changedParts(stored, seen)}`);
  const raw = withoutRemoteIcons(seen);
  if (raw !== seen) mended.push("icons that are not data: addresses were left out");
  const name = raw.name as string;
  const described = typeof raw.description === "string" ? raw.description : "";
  const description = cut(described, MAX_DESCRIPTION);
  if (described !== description) mended.push("excess length was taken out of the description");
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
    ...more(raw),
    hash: hash ?? await sha256(canonicalJson(given)),
  });
}

/** The parts of a definition that are not what they were. */
function changedParts(before: Record<string, unknown>, after: Record<string, unknown>): string {
  const changed = Object.keys(after).filter((key) => !Object.is(before[key], after[key]));
  return oneLine(changed.join(", "), 200) || "its keys";
}

/** A definition whose icons say what they are themselves: a client would fetch any other, and so tell its address. */
function withoutRemoteIcons(definition: Record<string, unknown>): Record<string, unknown> {
  const { icons, ...rest } = definition;
  if (icons === undefined) return definition;
  const isInside = (icon: unknown) => isObject(icon) && typeof icon.src === "string" && /^data:image\//i.test(icon.src);
  if (Array.isArray(icons) && icons.every(isInside)) return definition;
  const kept = Array.isArray(icons) ? icons.filter(isInside) : [];
  return kept.length > 0 ? { ...rest, icons: kept } : rest;
}

/** The other fields of a definition; they reach clients that see the tool itself. Tasks are not ours to promise. */
function more(raw: Record<string, unknown>): { more?: JsonObject } {
  const {
    name: _1,
    title: _2,
    description: _3,
    inputSchema: _4,
    outputSchema: _5,
    annotations: _6,
    execution: _7,
    ...rest
  } = raw;
  return Object.keys(rest).length > 0 ? { more: rest as JsonObject } : {};
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
