/**
 * `fetch` with a bound on what comes back: a JSON body as a whole, an event stream event by event. Redirects are not
 * followed: they would carry the server's credentials to somebody else.
 */
export function boundedFetch(maxBytes: number): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const response = await fetch(url, { ...init, redirect: "error" });
    if (!response.body) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const bound = isStream ? boundEvents(maxBytes) : boundTotal(maxBytes);
    // The runtime forgets an abort of a request that was collected while its body still comes in; the pipe does not.
    const body = response.body.pipeThrough(bound, init?.signal ? { signal: init.signal } : {});
    return new Response(body, response);
  };
}

function boundTotal(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let total = 0;
  return new TransformStream({
    transform(chunk, controller) {
      total += chunk.length;
      if (total > maxBytes) controller.error(tooLarge(maxBytes));
      else controller.enqueue(chunk);
    },
  });
}

/** An event ends at an empty line; counting from the last newline pair is exact enough for a bound. */
function boundEvents(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  let last = 0;
  return new TransformStream({
    transform(chunk, controller) {
      for (const byte of chunk) {
        size = byte === NEWLINE && last === NEWLINE ? 0 : size + 1;
        if (byte !== RETURN) last = byte;
      }
      if (size > maxBytes) controller.error(tooLarge(maxBytes));
      else controller.enqueue(chunk);
    },
  });
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;

function tooLarge(maxBytes: number): Error {
  return new Error(`the server sent more than ${maxBytes} bytes in one message`);
}
