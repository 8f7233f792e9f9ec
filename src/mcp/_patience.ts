import type { WhileAsked } from "./upstream.ts";

/** How long the calls on one connection may still take. */
export interface Patience {
  /** Gives a function that tells how much is left of so much time. */
  start(timeoutMs: number): () => number;
  readonly whileAsked: WhileAsked;
}

/** A human who was asked may take so long; then the time of a call goes on. */
const LONGEST_ANSWER_MS = 10 * 60_000;

/**
 * A server that asks back cannot answer before it was answered. An older one does not say for which call it asks, so
 * the time of all its calls stands still.
 */
export function createPatience(now: () => number = () => performance.now()): Patience {
  let [asking, since, stood] = [0, 0, 0];
  const stoodUntil = (time: number) => stood + (asking > 0 ? time - since : 0);
  return {
    start(timeoutMs) {
      const began = now();
      const before = stoodUntil(began);
      return () => {
        const time = now();
        return began + timeoutMs + Math.min(stoodUntil(time) - before, LONGEST_ANSWER_MS) - time;
      };
    },
    async whileAsked(work) {
      if (asking++ === 0) since = now();
      try {
        return await work();
      } finally {
        if (asking === 1) stood = stoodUntil(now());
        asking--;
      }
    },
  };
}
