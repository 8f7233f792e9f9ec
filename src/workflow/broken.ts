import type { Session } from "../call/mod.ts";
import { messageOf } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";

const AGAIN_AFTER_MS = 5_000;

/**
 * The runs that broke off because their journal could not be written. Each is tried again now and then until `takeUp` says
 * that it is settled.
 */
export function createBrokenRuns(takeUp: (id: string, session: Session) => Promise<boolean>) {
  const broken = new Map<string, Session>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;

  function later(ms = AGAIN_AFTER_MS): void {
    clearTimeout(timer);
    timer = isClosed || broken.size === 0 ? undefined : setTimeout(() => void tryAll(), ms);
  }

  async function tryAll(): Promise<void> {
    for (const [id, session] of [...broken]) {
      const isSettled = await takeUp(id, session).catch((error) => {
        log("debug", "auto_resume_failed", { run: id, reason: messageOf(error) });
        return false;
      });
      if (isSettled) broken.delete(id);
    }
    later();
  }

  return {
    add(id: string, session: Session): void {
      broken.set(id, session);
      if (timer === undefined) later();
    },
    /** The database is back. */
    tryNow: () => later(0),
    close(): void {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
