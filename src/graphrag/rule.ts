/** The most that may be wasted: a tenth of the time of the last calls. */
export const WASTE = { share: 0.1, calls: 200 } as const;

const LIKELY = 0.8;
/** What one may count on, by the lower bound of what was seen. */
export const COUNTED_ON = 0.7;

/** What is enough for the arguments of a tool that is sure to come next. */
export const LIKELY_ARGUMENTS = 0.65;

/** Whether it is good enough to act on that a tool comes next: likely here, and seen to come true often enough. */
export function isSure({ confidence, bound }: { readonly confidence: number; readonly bound: number }): boolean {
  return confidence >= LIKELY && bound >= COUNTED_ON;
}
