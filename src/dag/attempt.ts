import type { JsonObject } from "../model/mod.ts";
import { type CodeCalls, LEAST_START_MS } from "./code_calls.ts";
import type { Times } from "./event.ts";
import type { TaskResult } from "./run_port.ts";
import type { Task } from "./task.ts";

export type StopKind = "abort" | "timeout" | "hold" | "leave";

/** True if calls that act on the world may come to their end. */
export function isGentle(kind: StopKind): boolean {
  return kind === "hold" || kind === "leave";
}

const tenths = (ms: number) => Math.round(ms * 10) / 10;

/** The times of an attempt, as the journal has them. */
export function timesOf({ ms, startMs, flight }: Ended): Times {
  const starts = Object.entries(flight.calls?.starts() ?? {}).map(([server, waited]) => [server, tenths(waited)]);
  return {
    ms: tenths(ms),
    ...startMs >= LEAST_START_MS && { start_ms: tenths(startMs) },
    ...starts.length > 0 && { starts: Object.fromEntries(starts) },
  };
}

export function timeOf({ timeout_ms }: Task): { timeoutMs?: number } {
  return timeout_ms === undefined ? {} : { timeoutMs: timeout_ms };
}

export interface Flight {
  readonly controller: AbortController;
  /** True if the call has gone out. */
  isSent: boolean;
  /** The calls of its code or its agent. */
  calls?: Pick<CodeCalls, "stop" | "starts">;
}

export interface Ended {
  readonly attempt: number;
  readonly ms: number;
  /** Milliseconds of `ms` before the call went out. */
  readonly startMs: number;
  readonly result: TaskResult;
  readonly flight: Flight;
  readonly input: JsonObject;
}

/** A call that was lost is retried; one whose condition does not hold yet is polled. */
type Kind = "retry" | "poll";

/** Keeps the tasks that will be tried again after a while. */
export function createRetries() {
  const timers = new Map<ReturnType<typeof setTimeout>, Kind>();
  return {
    /** True if a task will be tried again; `kind`: a task of this kind. */
    waiting: (kind?: Kind) => kind === undefined ? timers.size > 0 : [...timers.values()].includes(kind),
    after(ms: number, again: () => void, kind: Kind = "retry"): void {
      const timer = setTimeout(() => {
        timers.delete(timer);
        again();
      }, ms);
      timers.set(timer, kind);
    },
    clear(): void {
      for (const timer of timers.keys()) clearTimeout(timer);
      timers.clear();
    },
  };
}
