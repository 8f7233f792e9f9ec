/** A logistic model over named signs that learns with each example. */
export interface Logistic {
  probability(signs: Signs): number;
  learn(signs: Signs, isHit: boolean): void;
  weights(): Readonly<Record<string, number>>;
  restore(weights: Readonly<Record<string, number>>): void;
}

/** The signs of one example, by name. */
export type Signs = Readonly<Record<string, number>>;

const STEP = 0.1;
/** Weights are drawn towards those that they started with. */
const DRAWN = 0.0005;
const HIGHEST = 6;

export function createLogistic(start: Readonly<Record<string, number>>): Logistic {
  const weights: Record<string, number> = { ...start };
  /** The sum of squared steps of each weight: one that was moved often moves less. */
  const moved: Record<string, number> = {};

  function probability(signs: Signs): number {
    let sum = 0;
    for (const name in signs) sum += (weights[name] ?? 0) * signs[name]!;
    return 1 / (1 + Math.exp(-sum));
  }

  return {
    probability,
    learn(signs, isHit) {
      const error = Number(isHit) - probability(signs);
      for (const name in signs) {
        const slope = error * signs[name]!;
        moved[name] = (moved[name] ?? 10) + slope * slope;
        const weight = weights[name] ?? 0;
        const next = weight + STEP * slope / Math.sqrt(moved[name]!) - DRAWN * (weight - (start[name] ?? 0));
        weights[name] = Math.max(-HIGHEST, Math.min(HIGHEST, next));
      }
    },
    weights: () => ({ ...weights }),
    restore: (known) => void Object.assign(weights, known),
  };
}
