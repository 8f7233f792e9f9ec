import { createLineSplitter, TOO_LONG } from "../../model/start.ts";
import type { Line } from "./channel.ts";

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
