import { createLineSplitter, TOO_LONG } from "../../model/start.ts";

export type Line = Uint8Array | typeof TOO_LONG;

/** Lines in, lines out, whatever carries them. */
export interface Channel {
  /** The first line alone, for greetings; undefined when the other side went without a word. */
  first(): Promise<Line | undefined>;
  /**
   * Hands every further line to `onLine` and resolves when the other side is gone. A line is valid until the next. A
   * later `read` takes the place of the one before.
   */
  read(onLine: (line: Line) => void): Promise<void>;
  /** Writes one line. */
  write(line: string | Uint8Array): void;
  /** Closes after everything written has gone out. */
  end(): Promise<void>;
  close(): void;
  /** Reads on after large lines, too: several clients stand behind this channel, and none is to wait for another. */
  neverRest?(): void;
}

const NEWLINE = 0x0a;
const encoder = new TextEncoder();

/** The bytes of a line with its newline, in one piece: a newline that arrives alone would wake the other side twice. */
export function lineBytes(line: string | Uint8Array): Uint8Array {
  return typeof line === "string" ? encoder.encode(line + "\n") : withNewline(line);
}

/** A line that was cut out of a stream has its newline behind it already; any other is copied. */
function withNewline(line: Uint8Array): Uint8Array {
  if (line.byteOffset + line.length < line.buffer.byteLength) {
    const longer = new Uint8Array(line.buffer, line.byteOffset, line.length + 1);
    if (longer[line.length] === NEWLINE) return longer;
  }
  const bytes = new Uint8Array(line.length + 1);
  bytes.set(line);
  bytes[line.length] = NEWLINE;
  return bytes;
}

/** Lines that come before anybody reads them wait, copied, since their bytes are only valid for a moment. */
export function createLineReader(maxLineBytes: number) {
  const split = createLineSplitter(maxLineBytes);
  const early: Line[] = [];
  const ended = Promise.withResolvers<void>();
  let isEnded = false;
  let onLine: ((line: Line) => void) | undefined;
  let wake: (() => void) | undefined;
  /** A handler that throws loses its own connection, not the process. */
  function guarded(line: Line): void {
    try {
      onLine?.(line);
    } catch {
      onLine = () => {};
      ended.resolve();
    }
  }
  return {
    /** Returns the bytes of the longest line that was handed over. */
    push(chunk: Uint8Array): number {
      let longest = 0;
      for (const line of split(chunk)) {
        if (line !== TOO_LONG) longest = Math.max(longest, line.length);
        if (onLine) guarded(line);
        else early.push(line === TOO_LONG ? line : line.slice());
      }
      wake?.();
      return longest;
    },
    end(): void {
      isEnded = true;
      wake?.();
      ended.resolve();
    },
    async first(): Promise<Line | undefined> {
      if (early.length === 0 && !isEnded) await new Promise<void>((resolve) => wake = resolve);
      return early.shift();
    },
    read(handler: (line: Line) => void): Promise<void> {
      onLine = handler;
      for (const line of early.splice(0)) guarded(line);
      return ended.promise;
    },
  };
}
