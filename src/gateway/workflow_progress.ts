import type { RunEvent } from "../dag/event.ts";
import { oneLine } from "../model/text.ts";
import type { LiveRun } from "./workflow_live.ts";

type Tell = (progress: Record<string, unknown>) => void;

/** Tells a client that waits how a run comes along: its id first, then each task as it ends. */
export function progressTo(tell: Tell, { id, state, written }: LiveRun): (event: RunEvent) => void {
  let done = state.workflow.tasks.length;
  const send = (message: string) => {
    const progress = { progress: Math.min(done, state.tasks.size), total: state.tasks.size };
    // An id that a crash could still forget is told to nobody.
    written.then(() => tell({ ...progress, message: oneLine(message, 300) }), () => {});
  };
  send(`${id}: ${state.tasks.size} tasks, ${done} done`);
  return (event) => {
    const words = wordsFor(event);
    if (words === undefined) return;
    done++;
    send(words);
  };
}

function wordsFor(event: RunEvent): string | undefined {
  switch (event.kind) {
    case "done":
      return `${event.task}: success in ${Math.round(event.ms)} ms`;
    case "failed":
      return event.status === "again" ? undefined : `${event.task}: ${event.error}`;
    case "skipped":
      return `${event.task}: skipped, ${event.why}`;
    case "in_doubt":
      return `${event.task}: in doubt, ${event.why}`;
  }
}
