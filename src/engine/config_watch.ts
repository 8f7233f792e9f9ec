import type { Session } from "../call/mod.ts";
import { createLook } from "../config/mod.ts";
import { describe } from "../model/mod.ts";
import { unrefTimer } from "../platform/start.ts";
import { log } from "../telemetry/mod.ts";

const LOOK_EVERY_MS = 1_000;
/** A file that has just changed is read once it has stayed the same for so long: an editor may write it in pieces. */
const SETTLE_MS = 250;

/**
 * Has sessions take up a configuration that was changed. It looks instead of listening: editors replace files, homes lie
 * on file systems that tell nothing, and ten looks a second cost less than a thousandth of a processor.
 */
export function watchConfig(sessions: ReadonlySet<Session>): Disposable {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;

  async function look(): Promise<void> {
    const at = createLook();
    const found = await Promise.allSettled([...sessions].map((session) => session.refresh(at)));
    for (const one of found) {
      if (one.status === "rejected") log("error", "configuration_not_watched", { reason: describe(one.reason) });
    }
    const isBeingWritten = found.some((one) => one.status === "fulfilled" && one.value);
    if (!isOver) next(isBeingWritten ? SETTLE_MS : LOOK_EVERY_MS);
  }

  function next(ms: number): void {
    timer = setTimeout(look, ms);
    unrefTimer(timer as unknown as number);
  }

  next(LOOK_EVERY_MS);
  return {
    [Symbol.dispose]() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
