import type { Candidate } from "./predictor.ts";

/** The bounds on reads made ahead after one answer. */
export const AHEAD = {
  /** The lowest probability of a read. */
  probability: 0.65,
  /** The lowest probability of a task that is named as the next one. */
  next: 0.35,
  /** The most reads after one answer. */
  reads: 3,
  /** The most tokens of one attachment. */
  tokens: 800,
} as const;

/** The candidates that are worth to be made: probable enough, and a few of them. */
export function chosen(candidates: readonly Candidate[], most: number = AHEAD.reads): Candidate[] {
  return candidates.filter(({ probability }) => probability >= AHEAD.probability).slice(0, most);
}
