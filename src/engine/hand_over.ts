import { installation, unrefTimer } from "../platform/start.ts";
import type { Activity } from "../serve/start.ts";

export interface HandOverOptions {
  readonly activity: Readonly<Activity>;
  /** True if a newer installation waits for this engine to leave. */
  isDue(): boolean;
  /** True if a workflow is running. */
  isRunning(): boolean;
  stop(): void;
  now?(): number;
}

/** Servers of a session end with its engine: nobody is to lose one in the middle of work. */
const QUIET_MS = 10_000;
/** Calls that cannot go on here are sent to the next engine; the others have so long to end. */
const DRAIN_MS = 10_000;

/** Decides, each time it looks, whether this engine makes room for that of a newer installation. */
export function createHandOver({ activity, isDue, isRunning, stop, now = () => performance.now() }: HandOverOptions) {
  let dueSince: number | undefined;
  let drainedSince: number | undefined;
  /** Calls that wait for the next engine. */
  let stuck = 0;

  return {
    look(): void {
      if (drainedSince !== undefined) {
        if (activity.open <= stuck || now() - drainedSince >= DRAIN_MS) stop();
        return;
      }
      if (!isDue()) return void (dueSince = undefined);
      dueSince ??= now();
      const quietSince = Math.max(dueSince, activity.endedAt);
      if (activity.open === 0 && !isRunning() && now() - quietSince >= QUIET_MS) stop();
    },
    /** Notes a call that needs code which was replaced before it was loaded. */
    drain(): void {
      stuck++;
      drainedSince ??= now();
    },
  };
}

export interface Watching {
  readonly gateway: Promise<{ readonly workflows: { isRunning(): boolean } }>;
  readonly activity: Activity;
  /** Connections of a newer version that was installed elsewhere. */
  readonly newer: ReadonlySet<unknown>;
  /** The variables that an engine is started with: others may be configured by now. */
  readonly exporter: { isDue(): boolean };
  stop(): void;
  report(what: string, reason: string): unknown;
}

const LOOK_EVERY_MS = 1_000;

/** Makes room for a newer installation, and tells whether that could be done at once. */
export function watchInstallation(
  { gateway, activity, newer, exporter, stop, report }: Watching,
): { isIdle(): boolean } {
  let workflows: { isRunning(): boolean } | undefined;
  gateway.then((opened) => workflows = opened.workflows, () => {});
  const isRunning = () => workflows?.isRunning() ?? false;
  const handOver = createHandOver({
    activity,
    isDue: () => newer.size > 0 || installation.isReplaced() || exporter.isDue(),
    isRunning,
    stop() {
      clearInterval(timer);
      report("engine_hands_over", "another version is installed, or other telemetry is configured");
      stop();
    },
  });
  const timer = setInterval(handOver.look, LOOK_EVERY_MS);
  unrefTimer(timer);
  installation.onNeeded(handOver.drain);
  return { isIdle: () => activity.open === 0 && !isRunning() };
}
