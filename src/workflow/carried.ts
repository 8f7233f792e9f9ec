import type { Session, ToolBook } from "../call/mod.ts";
import type { Fold, Happening, RunRow } from "../dag/mod.ts";
import type { Decider } from "./decider.ts";

/** The reason of a run that rests while its tasks are being changed. */
export const HELD = "its tasks are being changed";

export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

export type OnRefused = (row: RunRow, carrier: Session) => Promise<void>;

export interface Resting {
  readonly row: RunRow;
  readonly fold: Fold;
}

export interface Carried {
  readonly row: RunRow;
  /** The session that can carry it, if there is one. */
  readonly carrier: Session | undefined;
}

export interface Next {
  readonly decided: readonly Happening[];
  readonly session: Session;
  readonly book: ToolBook;
  readonly why: string;
  /** The one who waits for it. */
  readonly watcher?: Decider | undefined;
}
