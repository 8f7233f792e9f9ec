import type { Database } from "../db/mod.ts";
import { createPruner, DAY_MS, HOUR_MS, KEPT } from "../db/start.ts";
import { tokens } from "../model/mod.ts";
import { createMetricsStore, type MetricRow } from "./metrics_store.ts";
import { createMisfitStore, type Misfit } from "./misfit_store.ts";
import { type Trend, trendsOf } from "./trends.ts";
import { figuresOf, percentile, slotOf, usageOf, type UsageQuery, type UsageReport } from "./usage.ts";

/** A call as it is measured. */
export interface Measured {
  readonly tool: string;
  readonly client: string | null;
  readonly by: string;
  readonly ms: number;
  readonly ok: boolean;
  readonly bytes: number;
  readonly bytes_in?: number;
  /** Characters of its result that went into no context. */
  readonly kept?: number;
  /** The problem of its result by the output schema of its tool. */
  readonly misfit?: string;
}

/** The figures of calls, by hour and day. */
export interface Metrics {
  add(calls: readonly Measured[]): Promise<void>;
  usage(query: UsageQuery): Promise<UsageReport>;
  /** Tokens of results that no context of an agent got, since a time. */
  kept(since: number): Promise<number>;
  /** Tools that got slower or fail more than they used to. */
  trends(): Promise<Trend[]>;
}

/** A series over more than so long has a point for each day. */
const LONGEST_BY_HOUR_MS = 3 * DAY_MS;
/** The past that the last day is compared with. */
const PAST_DAYS = 14;

export function createMetrics(db: Database): Metrics {
  const store = createMetricsStore(db);
  const misfits = createMisfitStore(db);
  const pruner = createPruner({
    everyMs: HOUR_MS,
    async prune() {
      await store.compact(KEPT.metrics);
      await misfits.prune(KEPT.metrics.days);
    },
  });
  return {
    async add(calls) {
      if (calls.length === 0) return;
      await store.add(rowsOf(calls));
      const found = misfitsOf(calls);
      if (found.length > 0) await misfits.add(found);
      await pruner.written(calls.length);
    },
    async usage(query) {
      const step = Date.now() - query.since > LONGEST_BY_HOUR_MS ? "day" : "hour";
      const [tools, servers, clients, makers, series, answered, unfit] = await Promise.all([
        store.sums("tool", query),
        store.sums("server", query),
        store.sums("client", query),
        store.sums("maker", query),
        store.series(query, step),
        query.tool === undefined ? store.answered(query) : 0,
        misfits.list(query.since, query.tool),
      ]);
      const total = figuresOf("all", tools);
      return {
        since: query.since,
        total: { ...total, tokens_kept: Math.max(0, total.tokens_kept - tokens(answered)) },
        tools: usageOf(tools),
        servers: usageOf(servers),
        clients: usageOf(clients),
        makers: usageOf(makers),
        misfits: unfit,
        series: [...Map.groupBy(series, ({ name }) => Number(name))].sort(([a], [b]) => a - b).map(([at, sums]) => ({
          at,
          calls: sums.reduce((sum, { calls }) => sum + calls, 0),
          failed: sums.reduce((sum, { failed }) => sum + failed, 0),
          p95_ms: percentile(sums, 0.95),
        })),
      };
    },
    async kept(since) {
      const [sums, answered] = await Promise.all([store.sums("maker", { since }), store.answered({ since })]);
      return Math.max(0, figuresOf("all", sums).tokens_kept - tokens(answered));
    },
    async trends() {
      const day = Date.now() - DAY_MS;
      const [present, past] = await Promise.all([
        store.sums("tool", { since: day }),
        store.sums("tool", { since: day - PAST_DAYS * DAY_MS, until: Math.floor(day / HOUR_MS) * HOUR_MS }),
      ]);
      return trendsOf(usageOf(present), usageOf(past));
    },
  };
}

/** The results that do not fit, by tool, with the newest problem. */
function misfitsOf(calls: readonly Measured[]): Misfit[] {
  const unfit = calls.filter(({ misfit }) => misfit !== undefined);
  return [...Map.groupBy(unfit, ({ tool }) => tool)].map(([tool, some]) => ({
    tool,
    misfits: some.length,
    problem: some.at(-1)!.misfit!,
  }));
}

/** Calls as sums by tool, client, maker and slot. */
function rowsOf(calls: readonly Measured[]): MetricRow[] {
  const rows = new Map<string, MetricRow>();
  for (const { tool, client, by, ms, ok, bytes, bytes_in = 0, kept = 0 } of calls) {
    const slot = slotOf(ms);
    const key = JSON.stringify([tool, client, by, slot]);
    const row = rows.get(key);
    rows.set(key, {
      tool,
      client: client ?? "",
      made_by: by,
      slot,
      calls: (row?.calls ?? 0) + 1,
      failed: (row?.failed ?? 0) + (ok ? 0 : 1),
      ms: (row?.ms ?? 0) + ms,
      bytes_in: (row?.bytes_in ?? 0) + bytes_in,
      bytes_out: (row?.bytes_out ?? 0) + bytes,
      kept: (row?.kept ?? 0) + kept,
    });
  }
  return [...rows.values()];
}
