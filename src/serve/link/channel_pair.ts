import { type Channel, createLineReader, lineBytes } from "./channel.ts";

/** Two ends of one connection within this process. */
export function channelPair(maxLineBytes: number): [Channel, Channel] {
  const ends = [createLineReader(maxLineBytes), createLineReader(maxLineBytes)] as const;
  const close = () => ends.forEach(({ end }) => end());
  const channel = (own: 0 | 1): Channel => ({
    first: ends[own].first,
    read: ends[own].read,
    write(line) {
      // Later, as a real connection would: nobody who writes expects to be answered before it has finished.
      const bytes = lineBytes(line).slice();
      queueMicrotask(() => ends[own === 0 ? 1 : 0].push(bytes));
    },
    end: async () => {
      await Promise.resolve();
      close();
    },
    close,
  });
  return [channel(0), channel(1)];
}
