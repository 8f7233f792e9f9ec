/** The usual points of a distribution, rounded to microseconds. */
export function quantiles(values: readonly number[]): { p10: number; p50: number; p95: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round((sorted[Math.floor((sorted.length - 1) * share)] ?? NaN) * 1000) / 1000;
  return { p10: at(0.1), p50: at(0.5), p95: at(0.95) };
}
