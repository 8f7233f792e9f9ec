import type { Effect } from "./tool.ts";

const DANGER: Readonly<Record<Effect, number>> = { read: 0, idempotent: 1, effectful: 2 };

/** The more dangerous of two effects. */
export function worse(a: Effect, b: Effect): Effect {
  return DANGER[a] >= DANGER[b] ? a : b;
}
