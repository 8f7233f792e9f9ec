import { isOver, type RunEvent } from "../dag/mod.ts";
import type { Workflows } from "../workflow/mod.ts";

/**
 * The events of a run, from its first one on, as they happen. Ends with the run. Events that arrive while the journal is
 * read are kept, so that none is missed and none comes twice.
 */
export async function* observeRun({ journal, observe }: Workflows, id: string, signal: AbortSignal) {
  const arrived: RunEvent[] = [];
  let wake = Promise.withResolvers<void>();
  const stop = observe((run, event) => {
    if (run !== id) return;
    arrived.push(event);
    wake.resolve();
  });
  const leave = () => wake.resolve();
  signal.addEventListener("abort", leave);
  try {
    let last = 0;
    const { state } = await journal.open(id);
    for (const event of await journal.events(id)) {
      last = event.seq;
      yield event;
    }
    let isEnded = isOver(state);
    while (!signal.aborted) {
      for (let event = arrived.shift(); event; event = arrived.shift()) {
        if (event.seq <= last) continue;
        last = event.seq;
        isEnded = event.kind === "finished";
        yield event;
      }
      if (isEnded) return;
      await wake.promise;
      wake = Promise.withResolvers();
    }
  } finally {
    stop();
    signal.removeEventListener("abort", leave);
  }
}
