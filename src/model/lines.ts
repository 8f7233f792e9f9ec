/** A line that was longer than allowed; its bytes were thrown away. */
export const TOO_LONG = Symbol("line too long");

/**
 * Cuts a byte stream into lines without their newline, keeping at most `bound` bytes of an unfinished one. The returned
 * bytes may share memory with the chunk: use them before the next push, or copy them.
 */
export function createLineSplitter(
  bound: number | (() => number),
): (chunk: Uint8Array) => (Uint8Array | typeof TOO_LONG)[] {
  const most = typeof bound === "number" ? () => bound : bound;
  let parts: Uint8Array[] = [];
  let size = 0;
  let skipping = false;

  const finish = (end: Uint8Array): Uint8Array | typeof TOO_LONG => {
    const tooLong = skipping || size + end.length > most();
    const line = tooLong ? TOO_LONG : parts.length === 0 ? end : concat([...parts, end], size + end.length);
    parts = [];
    size = 0;
    skipping = false;
    return line;
  };

  return (chunk) => {
    const lines: (Uint8Array | typeof TOO_LONG)[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      lines.push(finish(chunk.subarray(start, end)));
      start = end + 1;
    }
    const rest = chunk.length - start;
    if (rest > 0 && !skipping) {
      size += rest;
      if (size > most()) {
        skipping = true;
        parts = [];
      } else parts.push(chunk.slice(start));
    }
    return lines;
  };
}

/**
 * Joins what is written in one turn into one write: a hundred answers that come together cost one system call and wake
 * the reader once. A single write goes out just as soon.
 */
export function coalesce(write: (bytes: Uint8Array) => void): (bytes: Uint8Array) => void {
  let waiting: Uint8Array[] = [];
  const flush = () => {
    const parts = waiting;
    waiting = [];
    write(parts.length === 1 ? parts[0]! : concat(parts, parts.reduce((sum, part) => sum + part.length, 0)));
  };
  return (bytes) => {
    if (waiting.push(bytes) === 1) queueMicrotask(flush);
  };
}

const NEWLINE = 0x0a;

function concat(parts: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
