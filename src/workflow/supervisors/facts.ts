import { isOver, ranMs, type RunState } from "../../dag/mod.ts";
import { cut, oneLine } from "../../model/mod.ts";
import { system } from "../../platform/start.ts";
import type { LiveView } from "../port.ts";

const SHOWN_ERRORS = 5;

/** A run as conditions of supervisors see it. */
export function runFacts(id: string, state: RunState, folder: string, now: number): Record<string, unknown> {
  const all = [...state.tasks.values()];
  const count = (...wanted: string[]) => all.filter(({ status }) => wanted.includes(status)).length;
  const errors = all.flatMap(({ id, error }) => error === undefined ? [] : [`${id}: ${cut(oneLine(error, 300), 300)}`]);
  return {
    id,
    status: state.status,
    folder,
    ms: Math.round(ranMs(state, isOver(state) ? state.last : now)),
    tasks: all.length,
    succeeded: count("success"),
    failed: count("error", "failed_safe"),
    skipped: count("skipped"),
    in_doubt: count("in_doubt"),
    running: count("running"),
    agents: state.plan.filter(({ type }) => type === "agent").length,
    attempts: all.reduce((sum, { attempt }) => sum + attempt, 0),
    calls: all.reduce((sum, { calls }) => sum + (calls?.size ?? 0), 0),
    errors: errors.slice(-SHOWN_ERRORS),
  };
}

/** A run that has ended, as counts over a folder or the engine need it. */
export interface Ended {
  readonly at: number;
  readonly folder: string;
  readonly status: string;
}

const HOUR_MS = 3_600_000;

/** The runs of a folder, or of the whole engine. */
export function runsFacts(live: readonly LiveView[], ended: readonly Ended[], now: number): Record<string, unknown> {
  const lately = ended.filter(({ at }) => now - at < HOUR_MS);
  const count = (...wanted: string[]) => lately.filter(({ status }) => wanted.includes(status)).length;
  return {
    running: live.length,
    ended: lately.length,
    completed: count("completed"),
    failed: count("failed", "partial"),
    aborted: count("aborted"),
  };
}

/** The engine's own figures. */
export function systemFacts(): Record<string, unknown> {
  return {
    rss_mb: Math.round(system.memoryUsage().rss / 1_048_576),
    uptime_s: Math.round(performance.now() / 1_000),
  };
}
