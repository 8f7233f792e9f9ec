import { z } from "../../deps.ts";

export const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const DURATION = 'must be milliseconds or text such as "30s" or "10m"';

/** A duration: a number of milliseconds, or text such as `30s`, `10m`, `7d`. Becomes milliseconds, at most `longest`. */
export const durationUpTo = (longest: number) =>
  z.union([
    z.number().int().nonnegative(),
    z.string().regex(/^\d+(ms|s|m|h|d)$/, DURATION).transform((text) =>
      parseInt(text) * UNITS[text.replace(/^\d+/, "")]!
    ),
  ], { error: DURATION }).transform((ms) => Math.min(ms, longest));
