/** The confidence of a suggestion, and whether the user wanted it. */
export interface Outcome {
  readonly confidence: number;
  readonly right: boolean;
}

/** The confidence from which a plan is suggested, and from which its reading part is run at once. */
export const SUGGEST_AT = 0.7;
const START = 0.92;
const LOWEST = 0.85;
const HIGHEST = 0.99;
/** Before so many outcomes nothing is changed; older ones than the last hundred do not count. */
const ENOUGH = 50;
const KEPT = 100;
const WANTED = 0.95;

/** The last outcomes, with one more. */
export function withOutcome(outcomes: readonly Outcome[], outcome: Outcome): Outcome[] {
  return [...outcomes, outcome].slice(-KEPT);
}

/** From where on suggestions were right nearly always: the lowest bound that holds, within its limits. */
export function speculateAt(outcomes: readonly Outcome[]): number {
  if (outcomes.length < ENOUGH) return START;
  for (let bound = LOWEST; bound < HIGHEST; bound += 0.01) {
    const sure = outcomes.filter(({ confidence }) => confidence >= bound);
    if (sure.length >= 10 && sure.filter(({ right }) => right).length / sure.length >= WANTED) {
      return Math.round(bound * 100) / 100;
    }
  }
  return HIGHEST;
}

export type Mode = "explicit_required" | "suggestion" | "speculative_execution";

export function modeFor(confidence: number, outcomes: readonly Outcome[]): Mode {
  if (confidence < SUGGEST_AT) return "explicit_required";
  return confidence >= speculateAt(outcomes) ? "speculative_execution" : "suggestion";
}
