import { createLineSplitter, TOO_LONG } from "../model/lines.ts";

/** Reads a connection line by line until it ends. Lines are only valid until the next one. */
export async function* readLines(
  conn: { read(buffer: Uint8Array): Promise<number | null> },
  maxBytes: number,
): AsyncGenerator<(Uint8Array | typeof TOO_LONG)[]> {
  const split = createLineSplitter(maxBytes);
  const buffer = new Uint8Array(64 * 1024);
  for (;;) {
    const size = await conn.read(buffer).catch(() => null);
    if (size === null) return;
    const lines = split(buffer.subarray(0, size));
    if (lines.length > 0) yield lines;
  }
}

/** Writes frames in order; what cannot go out at once waits, up to a bound. */
export interface FrameWriter {
  write(frame: string | Uint8Array): void;
  /** Resolves when everything written so far has gone out. */
  drained(): Promise<void>;
}

const MAX_WAITING = 256 * 1024 * 1024;

/** A writer of newline-ended frames; `onFail` is told once when the other side is gone or will not read. */
export function createFrameWriter(
  conn: { write(bytes: Uint8Array): Promise<number> },
  onFail: () => void,
): FrameWriter {
  const encoder = new TextEncoder();
  const waiting: Uint8Array[] = [];
  let size = 0;
  let pumping: Promise<void> | undefined;
  let failed = false;

  async function pump(): Promise<void> {
    try {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        size -= next.length;
        for (let sent = 0; sent < next.length;) sent += await conn.write(next.subarray(sent));
      }
    } catch {
      fail();
    } finally {
      pumping = undefined;
    }
  }

  function fail(): void {
    if (failed) return;
    failed = true;
    waiting.length = 0;
    onFail();
  }

  return {
    write(frame) {
      if (failed) return;
      const bytes = typeof frame === "string" ? encoder.encode(frame + "\n") : withNewline(frame);
      waiting.push(bytes);
      size += bytes.length;
      if (size > MAX_WAITING) return fail();
      pumping ??= pump();
    },
    async drained() {
      await pumping;
    },
  };
}

function withNewline(frame: Uint8Array): Uint8Array {
  const line = new Uint8Array(frame.length + 1);
  line.set(frame);
  line[frame.length] = 0x0a;
  return line;
}
