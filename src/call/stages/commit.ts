import type { Stage } from "./stage.ts";

/**
 * Waits for the caller's own record of the call, such as the row of a run's journal. It is the last stage before the
 * server: a crash while a human decides leaves nothing in doubt.
 */
export const commit: Stage = async (call, next) => {
  if (call.beforeSend) {
    await call.beforeSend(call.approval);
    call.signal.throwIfAborted();
  }
  return await next(call);
};
