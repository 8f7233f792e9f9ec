import type { Session } from "../call/mod.ts";
import type { DecidedBy, RunEvent, RunState } from "../dag/mod.ts";
import type { Caller } from "../model/mod.ts";

/** A run as it stands. */
export interface RunView {
  readonly id: string;
  readonly state: RunState;
}

/** The session that decides, and the caller that waits for the result. */
export interface Decider {
  readonly session: Session;
  readonly caller: Caller;
  readonly by: DecidedBy;
  /** Sees the run and every event of it, where progress in words is not enough. */
  readonly onStart?: (view: RunView) => void;
  readonly onEvent?: (event: RunEvent) => void;
}
