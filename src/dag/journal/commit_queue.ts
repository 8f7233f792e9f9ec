import { type Begun, type Entry, type JournalStore, keyOf } from "./journal_store.ts";
import { taken, unusable } from "./rows.ts";
import type { RunHead } from "./run_row.ts";

interface Waiting extends Entry {
  readonly written: PromiseWithResolvers<void>;
}

/**
 * Group commit: while one commit is under way, rows gather for the next. A row goes in only under the epoch its run has
 * now; for a run that has another one, nothing is written and its writer is told.
 */
export function createCommitQueue(
  ready: () => Promise<JournalStore>,
  { isStillOurs }: { isStillOurs: () => boolean },
) {
  let begun: Begun[] = [];
  let waiting: Waiting[] = [];
  let flushing: Promise<void> | undefined;
  /** Runs of which a row could not be written: none may follow it, or there would be a gap. */
  const broken = new Set<string>();

  async function flush(): Promise<void> {
    // What is appended in the same turn goes out together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const [heads, batch] = [begun, waiting];
      [begun, waiting] = [[], []];
      try {
        const written = await (await ready()).commit(heads, batch);
        if (!isStillOurs()) throw unusable("its folder or its lock is another's by now");
        for (const entry of batch) {
          if (written.has(keyOf(entry))) entry.written.resolve();
          else entry.written.reject(taken(entry.run));
        }
      } catch (error) {
        for (const entry of batch) broken.add(keyOf(entry));
        const after = Map.groupBy(waiting, (entry) => broken.has(keyOf(entry)));
        waiting = after.get(false) ?? [];
        for (const { written } of [...batch, ...after.get(true) ?? []]) written.reject(error);
      }
    }
    flushing = undefined;
  }

  return {
    begin(head: RunHead, epoch: number): void {
      begun.push({ head, epoch });
    },
    append(entry: Entry): Promise<void> {
      if (broken.has(keyOf(entry))) return Promise.reject(new Error("a row before could not be written"));
      const written = Promise.withResolvers<void>();
      waiting.push({ ...entry, written });
      flushing ??= flush();
      return written.promise;
    },
    settled: async () => await flushing,
  };
}
