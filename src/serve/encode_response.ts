import { type CallResult, isObject, type ToolResult } from "../model/mod.ts";
import { SERVER_INFO } from "./protocol.ts";

/** What the keys begin with that the protocol itself puts into meta data. */
export const META = "io.modelcontextprotocol/";
export const INVALID_PARAMS = -32602;

/** Results that a client may keep for a while, which must then say for how long. */
const CACHEABLE = new Set(["resources/read"]);

/** A result as the stateless protocol wants it. */
export function modern(result: ToolResult, method: string): ToolResult {
  return {
    resultType: "complete",
    ...CACHEABLE.has(method) && { ttlMs: 0, cacheScope: "private" },
    ...result,
    _meta: { [`${META}serverInfo`]: SERVER_INFO, ...isObject(result._meta) ? result._meta : {} },
  };
}

/** A result as older clients want it: they refuse the whole answer if its structured content is no object. */
export function legacy(result: ToolResult): ToolResult {
  const { structuredContent } = result;
  if (structuredContent === undefined || isObject(structuredContent)) return result;
  return { ...result, structuredContent: { result: structuredContent } };
}

const RESOURCE_NOT_FOUND = -32002;

export function errorOf({ code, message, data }: CallResult & { kind: "error" }, isModern: boolean) {
  // The stateless protocol has no number of its own for a resource that is not there.
  const number = isModern && code === RESOURCE_NOT_FOUND ? INVALID_PARAMS : code;
  return { code: number, message, ...data !== undefined && { data } };
}

/** A response around a result that is already JSON. */
export function spliced(id: unknown, json: Uint8Array, isModern: boolean): Uint8Array {
  const encoder = new TextEncoder();
  const head = encoder.encode(
    `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${isModern ? '{"resultType":"complete",' : "{"}`,
  );
  // The first byte of the result, its brace, is in the head already; an empty object cannot be large.
  const frame = new Uint8Array(head.length + json.length);
  frame.set(head);
  frame.set(json.subarray(1), head.length);
  frame[frame.length - 1] = 0x7d;
  return frame;
}
