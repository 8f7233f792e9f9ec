import type { RunEvent } from "../../dag/mod.ts";

/** One try of a task, on a clock that stands still while the run rests. */
export interface Span {
  readonly from: number;
  readonly to: number;
  readonly kind: "done" | "failed" | "running";
}

export interface FailedTry {
  readonly attempt: number;
  readonly ms: number;
  readonly error: string;
  /** The call was answered, and its condition did not hold yet. */
  readonly isPoll?: true;
}

export interface RunSpans {
  /** The length of the common axis, in milliseconds. */
  readonly length: number;
  readonly spans: ReadonlyMap<string, readonly Span[]>;
  /** Tries that failed and were followed by another. */
  readonly retried: ReadonlyMap<string, readonly FailedTry[]>;
}

/** When each task was under way, as the run's events tell it. */
export function spansOf(events: readonly RunEvent[], now: number): RunSpans {
  const spans = new Map<string, Span[]>();
  const retried = new Map<string, FailedTry[]>();
  const open = new Map<string, number>();
  const began = events[0]?.at ?? now;
  let rested = 0;
  let restsSince: number | undefined;
  let lastAt = began;
  const clock = (at: number) => Math.max(0, (restsSince ?? at) - began - rested);

  function close(task: string, kind: Span["kind"], at: number): void {
    const from = open.get(task);
    if (from === undefined) return;
    open.delete(task);
    keep(spans, task, { from, to: Math.max(from, clock(at)), kind });
  }

  for (const event of events) {
    const { at } = event;
    switch (event.kind) {
      case "started":
        open.set(event.task, clock(at));
        break;
      case "done":
        close(event.task, "done", at);
        break;
      case "failed":
        close(event.task, "failed", at);
        if (event.status === "again") keep(retried, event.task, event);
        break;
      case "skipped":
      case "in_doubt":
        close(event.task, "failed", at);
        break;
      case "paused":
      case "finished":
        restsSince = at;
        break;
      case "resumed": {
        // After a crash nobody said when the rest began: at the last word before it.
        const since = restsSince ?? lastAt;
        for (const task of open.keys()) close(task, "failed", since);
        rested += Math.max(0, at - since);
        restsSince = undefined;
      }
    }
    if (event.kind !== "command") lastAt = at;
  }
  const isOver = events.at(-1)?.kind === "finished" || restsSince !== undefined;
  const end = isOver ? lastAt : now;
  for (const task of [...open.keys()]) close(task, "running", end);
  return { length: Math.max(1, clock(end)), spans, retried };
}

function keep<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key) ?? [];
  list.push(value);
  map.set(key, list);
}
