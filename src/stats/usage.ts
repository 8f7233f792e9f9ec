import { tokens } from "../model/mod.ts";
import type { Misfit } from "./misfit_store.ts";

/** The columns by which figures can be grouped. */
export type GroupName = "tool" | "server" | "client" | "maker";

/** The calls that figures are wanted of. */
export interface UsageQuery {
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Calls before that time only. */
  readonly until?: number;
  /** `server:tool`, or `server:*`. */
  readonly tool?: string;
}

/** The figures of some calls. */
export interface Usage {
  readonly name: string;
  readonly calls: number;
  readonly failed: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  readonly tokens_in: number;
  readonly tokens_out: number;
  /** Tokens of results that no context of an agent got. */
  readonly tokens_kept: number;
}

/** The calls of an hour or of a day. */
export interface UsagePoint {
  readonly at: number;
  readonly calls: number;
  readonly failed: number;
  readonly p95_ms: number | null;
}

/** Everything that is known about calls since a time. */
export interface UsageReport {
  readonly since: number;
  readonly total: Usage;
  readonly tools: readonly Usage[];
  readonly servers: readonly Usage[];
  readonly clients: readonly Usage[];
  readonly makers: readonly Usage[];
  /** Tools whose results did not fit their own output schema. */
  readonly misfits: readonly Misfit[];
  readonly series: readonly UsagePoint[];
}

/** A sum of one group in one slot, as the store gives it. */
export interface SlotSum {
  readonly name: string;
  readonly slot: number;
  readonly calls: number;
  readonly failed: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly kept: number;
}

const SLOTS_PER_DOUBLING = 4;
const FIRST_SLOT = -8;
const LAST_SLOT = 100;

/** The slot of a duration on the logarithmic scale. */
export function slotOf(ms: number): number {
  const slot = Math.round(SLOTS_PER_DOUBLING * Math.log2(Math.max(ms, 0.01)));
  return Math.min(LAST_SLOT, Math.max(FIRST_SLOT, slot));
}

/** The duration in the middle of a slot. */
export function durationOf(slot: number): number {
  return 2 ** (slot / SLOTS_PER_DOUBLING);
}

/** The duration below which a share of the calls lies; null where there are none. */
export function percentile(sums: readonly SlotSum[], share: number): number | null {
  const all = sums.reduce((sum, { calls }) => sum + calls, 0);
  if (all === 0) return null;
  let seen = 0;
  for (const { slot, calls } of sums.toSorted((a, b) => a.slot - b.slot)) {
    seen += calls;
    if (seen >= share * all) return rounded(durationOf(slot));
  }
  return null;
}

/** Sums by slot as figures by group, the most called first. */
export function usageOf(sums: readonly SlotSum[]): Usage[] {
  return [...Map.groupBy(sums, ({ name }) => name)].map(([name, own]) => figuresOf(name, own))
    .sort((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1));
}

/** The figures of all sums together. */
export function figuresOf(name: string, sums: readonly SlotSum[]): Usage {
  const sumOf = (key: "calls" | "failed" | "bytes_in" | "bytes_out" | "kept") =>
    sums.reduce((sum, one) => sum + one[key], 0);
  return {
    name,
    calls: sumOf("calls"),
    failed: sumOf("failed"),
    p50_ms: percentile(sums, 0.5),
    p95_ms: percentile(sums, 0.95),
    tokens_in: tokens(sumOf("bytes_in")),
    tokens_out: tokens(sumOf("bytes_out")),
    tokens_kept: Math.max(0, tokens(sumOf("kept"))),
  };
}

function rounded(ms: number): number {
  return ms < 10 ? Math.round(ms * 100) / 100 : Math.round(ms);
}
