import { matchesPattern } from "../../model/mod.ts";
import type { AuditRow } from "../audit/row.ts";
import { recentRows } from "../audit/recent.ts";
import type { CallHistory, Counted, Counters } from "./judged.ts";

/** A call that a rule may count. */
interface PastCall {
  readonly at: number;
  /** The amounts among its arguments. */
  readonly amounts?: Readonly<Record<string, number>>;
  hasSucceeded: boolean;
}

/** A call that was let through, while it is on its way. */
export interface OpenCall {
  /** Tells the end of the call; one that was not made is forgotten. */
  ended(end: "ok" | "failed" | "not made"): void;
}

/** The calls of an engine, of all sessions, as rules count them. */
export interface RuleHistory extends CallHistory {
  readonly counters: Counters;
  /** Counts a call that rules let through. */
  begin(tool: string, args: Readonly<Record<string, unknown>>): OpenCall;
  /** Reads the calls of an earlier engine from the audit, as far back as rules look. */
  reachBack(windowMs: number): void;
}

/** So many calls are remembered of one tool, and so many tools. */
const MOST_CALLS = 10_000;
const MOST_TOOLS = 5_000;
const MOST_AMOUNTS = 8;

/** Keeps the calls of this engine, after those that the audit's folder tells of an earlier one. */
export function createRuleHistory(folder: string, now: () => number = Date.now): RuleHistory {
  const startedAt = now();
  const calls = new Map<string, PastCall[]>();
  const sums = new Map<string, { at: number; amount: number }[]>();
  let reached = 0;

  function note(tool: string, call: PastCall): void {
    const list = calls.get(tool) ?? [];
    if (list.length === 0) {
      if (calls.size >= MOST_TOOLS) calls.delete(calls.keys().next().value!);
      calls.set(tool, list);
    }
    list.push(call);
    if (list.length > MOST_CALLS) list.splice(0, list.length - MOST_CALLS);
  }

  function* within(pattern: string, windowMs: number): Generator<PastCall> {
    const from = now() - windowMs;
    const lists = pattern.includes("*")
      ? [...calls].filter(([tool]) => matchesPattern(pattern, tool)).map(([, list]) => list)
      : [calls.get(pattern) ?? []];
    for (const list of lists) {
      for (let i = list.length - 1; i >= 0 && list[i]!.at > from; i--) yield list[i]!;
    }
  }

  const counters: Counters = {
    total(rule, windowMs) {
      const list = sums.get(rule);
      if (!list) return 0;
      const from = now() - windowMs;
      const old = list.findIndex(({ at }) => at > from);
      // What no window of the rule reaches any more goes.
      if (old !== 0) list.splice(0, old < 0 ? list.length : old);
      return list.reduce((sum, { amount }) => sum + amount, 0);
    },
    add: ({ rule, amount }) => void sums.getOrInsertComputed(rule, () => []).push({ at: now(), amount }),
    remove({ rule, amount }) {
      const list = sums.get(rule) ?? [];
      const at = list.findLastIndex((one) => one.amount === amount);
      if (at >= 0) list.splice(at, 1);
    },
  };

  return {
    counters,
    count: (pattern, windowMs) => [...within(pattern, windowMs)].length,
    sum: (pattern, argument, windowMs) =>
      [...within(pattern, windowMs)].reduce((sum, { amounts }) => sum + (amounts?.[argument] ?? 0), 0),
    happened: (pattern, windowMs) => within(pattern, windowMs).some(({ hasSucceeded }) => hasSucceeded),
    begin(tool, args) {
      const call: PastCall = { at: now(), hasSucceeded: false, ...amountsOf(args) };
      note(tool, call);
      return {
        ended(end) {
          if (end === "ok") call.hasSucceeded = true;
          if (end !== "not made") return;
          const list = calls.get(tool);
          const at = list?.lastIndexOf(call) ?? -1;
          if (at >= 0) list!.splice(at, 1);
        },
      };
    },
    reachBack(windowMs) {
      if (windowMs <= reached) return;
      const [from, until] = [startedAt - windowMs, reached === 0 ? startedAt : startedAt - reached];
      reached = windowMs;
      // Before what is known already: lists are in the order of time.
      const older = new Map<string, PastCall[]>();
      const olderSums = new Map<string, { at: number; amount: number }[]>();
      for (const row of recentRows(folder, from)) {
        if (row.at >= until) continue;
        if (row.kind === "counted") {
          for (const { rule, amount } of countedIn(row)) {
            olderSums.getOrInsertComputed(rule, () => []).push({ at: row.at, amount });
          }
        }
        if (row.kind !== "call" || row.outcome === "refused" || typeof row.tool !== "string") continue;
        older.getOrInsertComputed(row.tool, () => []).push({
          at: row.at,
          hasSucceeded: row.outcome === "ok",
          ...typeof row.amounts === "string" && { amounts: JSON.parse(row.amounts) as Record<string, number> },
        });
      }
      for (const [tool, list] of older) calls.set(tool, [...list, ...calls.get(tool) ?? []].slice(-MOST_CALLS));
      for (const [rule, list] of olderSums) sums.set(rule, [...list, ...sums.get(rule) ?? []]);
    },
  };
}

/** The numbers among the arguments of a call, for `sum()`. */
export function amountsOf(args: Readonly<Record<string, unknown>>): { amounts?: Record<string, number> } {
  const found = Object.entries(args).filter(([, value]) => typeof value === "number" && Number.isFinite(value));
  return found.length === 0
    ? {}
    : { amounts: Object.fromEntries(found.slice(0, MOST_AMOUNTS)) as Record<string, number> };
}

/** The field of a row that says which rules counted a call, and how much. */
export function countedText(counted: readonly Counted[]): string {
  return JSON.stringify(counted.map(({ rule, amount }) => [rule, amount]));
}

function countedIn({ counts }: AuditRow): Counted[] {
  if (typeof counts !== "string") return [];
  try {
    return (JSON.parse(counts) as [string, number][]).map(([rule, amount]) => ({ rule, amount }));
  } catch {
    return [];
  }
}
