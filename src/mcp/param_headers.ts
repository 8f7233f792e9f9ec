import { type CallResult, isObject } from "../model/mod.ts";

/** An argument that its tool's server wants to see in a header, too (`x-mcp-header` of the stateless protocol). */
export interface ParamHeader {
  readonly header: string;
  readonly path: readonly string[];
}

const KEY = "x-mcp-header";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
const DEEPEST = 32;

/** The headers of a tool's arguments; a text says why its schema cannot be followed, and the tool cannot be called. */
export function paramHeaders(inputSchema: unknown): readonly ParamHeader[] | string {
  const found: ParamHeader[] = [];
  const seen = new Set<string>();

  /** `isFixed`: an argument stands at this place in every call, as it does below `properties` alone. */
  function visit(schema: unknown, path: readonly string[], isFixed: boolean, depth = 0): string | undefined {
    if (depth > DEEPEST) return undefined;
    if (Array.isArray(schema)) return first(schema, (item) => visit(item, path, false, depth + 1));
    if (!isObject(schema)) return undefined;
    if (Object.hasOwn(schema, KEY)) {
      const header = schema[KEY];
      const at = path.join(".") || "the schema";
      if (!isFixed || path.length === 0) return `${at} cannot have ${KEY}`;
      if (typeof header !== "string" || !TOKEN.test(header)) return `${KEY} of ${at} is no name of a header`;
      if (!TYPES.has(schema.type)) return `${KEY} of ${at} goes with string, integer and boolean only`;
      if (seen.has(header.toLowerCase())) return `${KEY} of ${at} is there twice`;
      seen.add(header.toLowerCase());
      found.push({ header: `Mcp-Param-${header}`, path });
    }
    return first(Object.entries(schema), ([key, part]) => {
      if (key !== "properties") return DATA.has(key) ? undefined : visit(part, path, false, depth + 1);
      if (!isObject(part)) return undefined;
      return first(Object.entries(part), ([name, of]) => visit(of, [...path, name], isFixed, depth + 1));
    });
  }

  return visit(inputSchema, [], true) ?? found;
}

/** Members of a schema that hold values, not schemas. */
const DATA: ReadonlySet<string> = new Set(["default", "examples", "enum", "const"]);

function first<T>(items: readonly T[], look: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = look(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The headers of one call. An argument that is absent, null or of another type has none. */
export function headersOf(params: readonly ParamHeader[], args: unknown): Record<string, string> {
  return Object.fromEntries(params.flatMap(({ header, path }) => {
    const value = path.reduce<unknown>(
      (node, key) => isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined,
      args,
    );
    const isPlain = typeof value === "string" || typeof value === "boolean" ||
      typeof value === "number" && Number.isFinite(value);
    return isPlain ? [[header, encoded(String(value))]] : [];
  }));
}

/** The texts that a header can hold as they are: visible ASCII with blanks and tabs inside. */
const AS_IT_IS = /^(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?$/;
const LOOKS_ENCODED = /^=\?base64\?.*\?=$/i;

function encoded(value: string): string {
  if (AS_IT_IS.test(value) && !LOOKS_ENCODED.test(value)) return value;
  return `=?base64?${new TextEncoder().encode(value).toBase64()}?=`;
}

/** A request, with the arguments that are sent as headers, too. */
export interface Mirrored {
  readonly method: string;
  readonly params: Record<string, unknown>;
  readonly headers?: Record<string, string>;
}

/** The error of a server that misses a header, or has found another value in it than in the call. Nothing was done. */
const HEADER_MISMATCH = -32_020;
const MAX_PAGES = 16;

/** Sends the calls of one connection with the headers that its lists ask for. */
export function createMirror() {
  const known = new Map<string, readonly ParamHeader[]>();

  function learn(reply: CallResult): CallResult {
    const tools = reply.kind === "result" && Array.isArray(reply.result.tools) ? reply.result.tools : [];
    for (const tool of tools.filter(isObject)) {
      const found = paramHeaders(tool.inputSchema);
      known.delete(String(tool.name));
      if (typeof found !== "string" && found.length > 0) known.set(String(tool.name), found);
    }
    return reply;
  }

  return {
    /** The reason why a tool cannot be called over HTTP. */
    unusable({ inputSchema }: Record<string, unknown>): string | undefined {
      const found = paramHeaders(inputSchema);
      return typeof found === "string" ? found : undefined;
    },
    async send<R extends Mirrored>(request: R, put: (request: R) => Promise<CallResult>): Promise<CallResult> {
      const { method, params } = request;
      if (method === "tools/list") return learn(await put(request));
      if (method !== "tools/call") return await put(request);
      const call = () =>
        put({ ...request, headers: headersOf(known.get(String(params.name)) ?? [], params.arguments) });
      const reply = await call();
      if (reply.kind !== "error" || reply.code !== HEADER_MISMATCH) return reply;
      // The list was read by an earlier connection, or has changed.
      let cursor: unknown;
      for (let page = 0; page < MAX_PAGES; page++) {
        const list = learn(await put({ ...request, method: "tools/list", params: cursor ? { cursor } : {} }));
        cursor = list.kind === "result" ? list.result.nextCursor : undefined;
        if (typeof cursor !== "string" || cursor === "") break;
      }
      return await call();
    },
  };
}
