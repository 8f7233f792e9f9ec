import { type CallResult, isObject, type ToolResult } from "../../model/mod.ts";
import { INVALID_PARAMS, RESOURCE_NOT_FOUND } from "./codes.ts";
import { META } from "./era.ts";
import { SERVER_INFO } from "./server_info.ts";

type Message = Record<string, unknown>;

/** The facts that a client told in its handshake. */
export interface Handshake {
  readonly capabilities: Message | undefined;
  readonly logLevel: string | undefined;
}

/** The form of requests and responses in one revision of the protocol. */
export interface Codec {
  /** The capabilities of the client behind a request. */
  capabilities(meta: Message, handshake: Handshake): Message | undefined;
  /** The level from which on the client behind a request wants to hear log messages. */
  logLevel(meta: Message, handshake: Handshake): unknown;
  /** True if a question may be the response of a request. */
  readonly takesQuestions: boolean;
  result(result: ToolResult, method: string): ToolResult;
  error(error: CallResult & { kind: "error" }): { code: number; message: string; data?: unknown };
  /** The beginning of a result object, up to its first own key. */
  readonly resultHead: string;
}

/** The revisions with a handshake, up to 2025-11-25. */
const LEGACY: Codec = {
  capabilities: (_meta, { capabilities }) => capabilities,
  // A client hears of everything that it has not refused; a stateless server wants to be told so.
  logLevel: (_meta, { logLevel }) => logLevel ?? "info",
  takesQuestions: false,
  // Older clients refuse the whole response if its structured content is no object.
  result(result) {
    const { structuredContent } = result;
    if (structuredContent === undefined || isObject(structuredContent)) return result;
    return { ...result, structuredContent: { result: structuredContent } };
  },
  error: ({ code, message, data }) => ({ code, message, ...data !== undefined && { data } }),
  resultHead: "{",
};

/** Results that a client may keep for a while, and that must say for how long. */
const CACHEABLE = new Set(["resources/read"]);

/** The stateless revision, 2026-07-28. */
const MODERN: Codec = {
  capabilities(meta) {
    const capabilities = meta[`${META}clientCapabilities`];
    return isObject(capabilities) ? capabilities : undefined;
  },
  logLevel: (meta) => meta[`${META}logLevel`],
  takesQuestions: true,
  result: (result, method) => ({
    resultType: "complete",
    ...CACHEABLE.has(method) && { ttlMs: 0, cacheScope: "private" },
    ...result,
    _meta: { [`${META}serverInfo`]: SERVER_INFO, ...isObject(result._meta) ? result._meta : {} },
  }),
  // The revision has no number of its own for a resource that is not there.
  error: ({ code, message, data }) => ({
    code: code === RESOURCE_NOT_FOUND ? INVALID_PARAMS : code,
    message,
    ...data !== undefined && { data },
  }),
  resultHead: '{"resultType":"complete",',
};

/** The codec of a request, chosen by its metadata. */
export function codecOf(meta: Readonly<Record<string, unknown>>): Codec {
  return `${META}protocolVersion` in meta ? MODERN : LEGACY;
}

/** A response around a result that is JSON already. */
export function splicedResponse(id: unknown, json: Uint8Array, { resultHead }: Codec): Uint8Array {
  const head = new TextEncoder().encode(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${resultHead}`);
  // The first byte of the result, its brace, is in the head already; an empty object cannot be large.
  const frame = new Uint8Array(head.length + json.length);
  frame.set(head);
  frame.set(json.subarray(1), head.length);
  frame[frame.length - 1] = 0x7d;
  return frame;
}
