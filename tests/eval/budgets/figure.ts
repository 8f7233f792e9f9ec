import { quantiles } from "../quantiles.ts";

/** A figure as it was measured, beside the bound that it was given. */
export interface Figure {
  readonly name: string;
  readonly measured: number;
  readonly bound: number;
  readonly unit: string;
  /** Whether the bound is the least that it may be, not the most. */
  readonly least?: boolean;
  readonly note?: string;
}

/** How much is measured. */
export interface Size {
  readonly rounds: number;
  readonly tools: number;
  readonly edges: number;
}

export function isWithin({ measured, bound, least = false }: Figure): boolean {
  return least ? measured >= bound : measured <= bound;
}

/** A figure of time: 95 of 100 were as quick. */
export function timing(name: string, bound: number, times: readonly number[]): Figure {
  const { p50, p95 } = quantiles(times);
  return { name, measured: p95, bound, unit: "ms p95", note: `p50 ${p50}, n ${times.length}` };
}

export async function timed<T>(work: () => Promise<T> | T): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Times the work as often as asked, after a few times that do not count. */
export async function times(rounds: number, work: (round: number) => Promise<unknown> | unknown): Promise<number[]> {
  const warmUps = Math.min(5, rounds);
  const all: number[] = [];
  for (let round = 0; round < warmUps + rounds; round++) all.push(await timed(() => work(round)));
  return all.slice(warmUps);
}
