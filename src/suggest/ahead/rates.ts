/** Counts of how often something came true, by nested places: a narrow place starts from the share of its wider one. */
export interface Rates {
  /** The share to expect in the last of these places, the widest first; and the number of trials in that place. */
  share(places: readonly string[]): { readonly share: number; readonly trials: number };
  /** The hits and trials of one place. */
  seen(place: string): readonly [hits: number, trials: number];
  note(places: readonly string[], isHit: boolean): void;
  all(): [string, number, number][];
  restore(rows: readonly (readonly [string, number, number])[]): void;
}

/** A place counts for as much as its wider one from so many trials on. */
const TRUST = 3;
const START = 0.1;
/** The places that were used last are remembered. */
const MOST = 6_000;
/** From so many trials on older ones fade. */
const FADING = 60;

export function createRates(): Rates {
  const counts = new Map<string, [hits: number, trials: number]>();
  return {
    share(places) {
      let share = START;
      let trials = 0;
      for (const place of places) {
        const [hits, all] = counts.get(place) ?? [0, 0];
        share = (hits + TRUST * share) / (all + TRUST);
        trials = all;
      }
      return { share, trials };
    },
    seen: (place) => counts.get(place) ?? [0, 0],
    note(places, isHit) {
      for (const place of places) {
        const [hits, trials] = counts.get(place) ?? [0, 0];
        counts.delete(place);
        const kept = trials >= FADING ? 1 - 1 / FADING : 1;
        counts.set(place, [hits * kept + Number(isHit), trials * kept + 1]);
        if (counts.size > MOST) counts.delete(counts.keys().next().value!);
      }
    },
    all: () => [...counts].map(([place, [hits, trials]]) => [place, hits, trials]),
    restore(rows) {
      for (const [place, hits, trials] of rows) counts.set(place, [hits, trials]);
    },
  };
}
