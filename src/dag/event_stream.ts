/** A list that grows while somebody reads it. Who writes never waits for who reads. */
export function createEventStream<T>() {
  let waiting: T[] = [];
  let wake = Promise.withResolvers<void>();
  let end: { error?: unknown } | undefined;

  return {
    push(item: T): void {
      waiting.push(item);
      wake.resolve();
    },
    /** Ends the stream, with an error for the reader if there is one. */
    end(error?: unknown): void {
      end ??= error === undefined ? {} : { error };
      wake.resolve();
    },
    async *read(): AsyncGenerator<T, void> {
      for (;;) {
        const items = waiting;
        waiting = [];
        yield* items;
        if (waiting.length > 0) continue;
        if (end && "error" in end) throw end.error;
        if (end) return;
        await wake.promise;
        wake = Promise.withResolvers();
      }
    },
  };
}
