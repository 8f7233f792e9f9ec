/** Chance that can be repeated: the same seed gives the same values. */
export interface Random {
  /** A whole number from 0 to `limit - 1`. */
  below(limit: number): number;
  /** Up to `longest` characters of an alphabet. */
  text(alphabet: string, longest: number): string;
}

/** mulberry32 */
export function seeded(seed: number): Random {
  const next = () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    text(alphabet, longest) {
      const letters = [...alphabet];
      return Array.from({ length: below(longest + 1) }, () => letters[below(letters.length)]!).join("");
    },
  };
}
