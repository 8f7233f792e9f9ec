import type { RunState } from "../dag/mod.ts";
import { AgentCardsError, type Caller, messageOf, within } from "../model/mod.ts";

/** The time that a repeated request waits for a journal that cannot be read yet, and the interval of its looks. */
const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 250;

/** Reads from the journal as soon as that can be read; whoever has waited for too long is told not to run it again. */
export async function onceReadable<T>(
  read: () => Promise<T>,
  signal: AbortSignal,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return await within(read(), Math.max(0, deadline - performance.now()), "it takes too long");
    } catch (error) {
      signal.throwIfAborted();
      if (performance.now() + LOOK_EVERY_MS >= deadline) throw notKnownYet(error);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }
}

/** True if a run waits for an approval that the caller can put to a human. */
export function isAskable({ status, pending }: RunState, { human }: Caller): boolean {
  return status === "paused" && pending?.reason === "approval" && human.kind === "here" &&
    human.approvals !== "elsewhere";
}

function notKnownYet(cause: unknown): AgentCardsError {
  const message = "AgentCards' engine went away during this call, and what it began is not known yet";
  return new AgentCardsError("DB_UNUSABLE", `${message}: the journal cannot be read (${messageOf(cause)})`, {
    cause,
    hint:
      'Do not run it again: what had begun goes on once the journal can be read. Ask resume_workflow {"action": "status"} in a while.',
  });
}
