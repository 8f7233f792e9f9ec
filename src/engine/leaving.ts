import { within } from "../model/start.ts";
import { LOST_ITS_HOME } from "../serve/start.ts";
import { stdio, system } from "../platform/start.ts";

/** Longer than a server is given to end by itself, shorter than `engine stop` waits. */
export const CLOSE_WITHIN_MS = 3_000;
const LAST_WORDS_MS = 500;

/** The ways out of a process that cannot end as it should. */
export interface Leaving {
  /** Writes to the log, once there is one. */
  report(what: string, reason: string): Promise<void>;
}

/**
 * Ends this process when its home is another's by now. The database is not closed: that would write a checkpoint into a
 * folder that another engine may have open.
 */
export async function abandonHome(lost: string, { report }: Leaving): Promise<never> {
  const reason = `${lost} was removed or replaced: process ${system.pid} leaves, another engine may be at work there`;
  await inTime(say("home_lost", reason, report));
  return system.exit(LOST_ITS_HOME);
}

/** Ends this process when closing takes too long. */
export async function leaveUnclosed({ report }: Leaving): Promise<never> {
  const reason = `process ${system.pid} did not close within ${CLOSE_WITHIN_MS / 1_000} s and ends as it is`;
  await inTime(say("engine_not_closed", reason, report));
  return system.exit(1);
}

async function say(what: string, reason: string, report: Leaving["report"]): Promise<void> {
  // First to the file of the engine's errors: it is there whatever happens to the log.
  stdio.stderr.writeSync(new TextEncoder().encode(`${what}: ${reason}\n`));
  await report(what, reason);
}

const inTime = (work: Promise<unknown>) => within(work, LAST_WORDS_MS, "it hangs").catch(() => {});
