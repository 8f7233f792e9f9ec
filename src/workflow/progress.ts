import type { RunEvent, RunState } from "../dag/mod.ts";
import { oneLine, progressText } from "../model/mod.ts";

type Tell = (progress: Record<string, unknown>) => void;

export interface Teller {
  /** Something happened to the run. */
  event(event: RunEvent): void;
  /** A task's own call says how far it is. */
  part(task: string, said: Record<string, unknown>): void;
}

/** The run that a client waits for. */
interface WatchedRun {
  readonly id: string;
  readonly state: RunState;
  readonly written: Promise<void>;
}

/** The least that progress goes on: it must never stand still or go back. */
const LEAST_STEP = 0.001;

/** Tells a client that waits how a run comes along: its id first, then each task as it goes on and ends. */
export function progressTo(tell: Tell, { id, state, written }: WatchedRun): Teller {
  const parts = new Map<string, number>();
  let done = state.workflow.tasks.length;
  let last = -1;
  const send = (message: string) => {
    const now = Math.min(done, state.tasks.size) + parts.values().reduce((sum, part) => sum + part, 0);
    last = Math.max(now, last + LEAST_STEP);
    const progress = { progress: last, total: Math.max(state.tasks.size, last) };
    // An id that a crash could still forget is told to nobody.
    written.then(() => tell({ ...progress, message: oneLine(message, 300) }), () => {});
  };
  const { priority } = state.options;
  send(`${id}: ${state.tasks.size} tasks, ${done} done${priority === undefined ? "" : `, priority ${priority}`}`);
  return {
    event(event) {
      if (event.kind === "failed" && event.isPoll) {
        return send(`${event.task}: ${event.error} (${state.tasks.get(event.task)?.polls ?? 0} calls)`);
      }
      if (event.kind === "command" && event.note !== undefined) {
        return send(`${event.decision.action} by ${event.by}: ${event.note}`);
      }
      const words = wordsFor(event);
      if (words === undefined) return;
      if ("task" in event) parts.delete(event.task);
      done++;
      send(words);
    },
    part(task, said) {
      const { progress, total } = said;
      const share = typeof progress === "number" && typeof total === "number" ? progress / total : NaN;
      if (share >= 0 && share < 1) parts.set(task, share);
      send(`${task}: ${progressText(said)}`);
    },
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
