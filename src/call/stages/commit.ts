import type { Session } from "../session.ts";
import { eventOf } from "./audit.ts";
import type { Stage } from "./stage.ts";

/**
 * Waits for the records of a call: the row of the audit if it acts, and the caller's own, such as the row of a run's
 * journal. It is the last stage before the server: a crash while a human decides leaves nothing in doubt.
 */
export function commit(session: Pick<Session, "shared" | "client" | "cwd">): Stage {
  return async (call, next) => {
    if (call.effect !== "read") session.shared.audit.require({ ...eventOf(session, call), kind: "sent" });
    if (call.beforeSend) {
      await call.beforeSend(call.approval);
      call.signal.throwIfAborted();
    }
    return await next(call);
  };
}
