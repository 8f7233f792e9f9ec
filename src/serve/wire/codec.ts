import { META } from "./era.ts";
import type { Codec } from "./form.ts";
import { LEGACY } from "./legacy.ts";
import { MODERN } from "./modern.ts";

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
