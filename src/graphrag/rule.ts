/** The most that may be wasted: a tenth of the time of the last calls. */
export const WASTE = { share: 0.1, calls: 200 } as const;

const LIKELY = 0.8;
/** The lower bound of an observed share from which a prediction counts. */
export const COUNTED_ON = 0.7;

/** The bound for the arguments of a tool that is certain to come next. */
export const LIKELY_ARGUMENTS = 0.65;

/** True if a prediction may be acted on: likely here, and right often enough before. */
export function isSure({ confidence, bound }: { readonly confidence: number; readonly bound: number }): boolean {
  return confidence >= LIKELY && bound >= COUNTED_ON;
}
