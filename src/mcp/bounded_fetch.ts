import { nextTurn } from "../model/mod.ts";
import { untraced } from "../telemetry/mod.ts";
import type { Traffic } from "./traffic.ts";

/**
 * `fetch` with a bound on what comes back: a JSON body as a whole, an event stream event by event. Redirects are not
 * followed: they would carry the server's credentials to somebody else.
 */
export function boundedFetch(
  maxBytes: number,
  traffic: Traffic,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const response = await untraced(() => fetch(url, { ...init, redirect: "error" }));
    if (!response.body) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const bound = isStream ? boundEvents(maxBytes, traffic) : boundTotal(maxBytes);
    // The runtime forgets an abort of a request that was collected while its body still comes in; the pipe does not.
    const body = response.body.pipeThrough(bound, init?.signal ? { signal: init.signal } : {});
    return new Response(body, response);
  };
}

/** Ends a body that is larger than it may be. */
export function boundTotal(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let total = 0;
  return new TransformStream({
    transform(chunk, controller) {
      total += chunk.length;
      if (total > maxBytes) controller.error(tooLarge(maxBytes));
      else controller.enqueue(chunk);
    },
  });
}

/** So much of a stream is handled in one turn, and so much later where its server sends more than its budgets. */
const TURN_BYTES = 8_192;
const FLOOD_PAUSE_MS = 5;

/** An event ends at an empty line; counting from the last newline pair is exact enough for a bound. */
function boundEvents(maxBytes: number, traffic: Traffic): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  let last = 0;
  return new TransformStream({
    async transform(chunk, controller) {
      for (const byte of chunk) {
        size = byte === NEWLINE && last === NEWLINE ? 0 : size + 1;
        if (byte !== RETURN) last = byte;
      }
      if (size > maxBytes) return controller.error(tooLarge(maxBytes));
      for (let at = 0; at < chunk.length; at += TURN_BYTES) {
        controller.enqueue(chunk.subarray(at, at + TURN_BYTES));
        if (performance.now() < traffic.floodsUntil) {
          await new Promise((resolve) => setTimeout(resolve, FLOOD_PAUSE_MS));
        } else if (chunk.length > TURN_BYTES) await nextTurn();
      }
    },
  });
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;

function tooLarge(maxBytes: number): Error {
  return new Error(`the server sent more than ${maxBytes} bytes in one message`);
}
