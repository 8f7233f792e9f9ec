/** The quantile of the posterior that counts as the lower bound of a share. */
const CAUTION = 0.2;
/** More than this tells nothing that could still change a decision. */
const ENOUGH = 200;
const STEPS = 24;

/**
 * The share of hits that one may count on after so many trials: the lower quantile of the Beta posterior of an even
 * prior. One hit of one is 0.45, five of five 0.76, twenty of twenty 0.93.
 */
export function lowerBound(hits: number, trials: number): number {
  const n = Math.min(trials, ENOUGH);
  const k = n === trials ? hits : Math.floor(hits / trials * n);
  let [low, high] = [0, 1];
  for (let i = 0; i < STEPS; i++) {
    const middle = (low + high) / 2;
    if (tail(k + 1, n + 1, middle) < CAUTION) low = middle;
    else high = middle;
  }
  return low;
}

/** The chance of at least `k` heads in `n` tosses, which is the Beta distribution's share below `p`. */
function tail(k: number, n: number, p: number): number {
  const odds = p / (1 - p);
  let term = n * Math.log(1 - p);
  let sum = 0;
  for (let j = 0; j <= n; j++) {
    if (j >= k) sum += Math.exp(term);
    term += Math.log((n - j) / (j + 1)) + Math.log(odds);
  }
  return sum;
}
