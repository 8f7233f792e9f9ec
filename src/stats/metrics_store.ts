import type { Database } from "../db/mod.ts";
import type { GroupName, SlotSum, UsageQuery } from "./usage.ts";

/** A sum of calls that is added to its hour. */
export interface MetricRow extends Omit<SlotSum, "name"> {
  readonly tool: string;
  readonly client: string;
  readonly made_by: string;
  readonly ms: number;
}

/** The parts of a name that stand for a group. */
const GROUPS: Readonly<Record<GroupName, string>> = {
  tool: "tool",
  server: "split_part(tool, ':', 1)",
  client: "client",
  maker: "made_by",
};

const SUMS = `sum(calls)::int as calls, sum(failed)::int as failed, sum(bytes_in)::float8 as bytes_in,
  sum(bytes_out)::float8 as bytes_out, sum(kept)::float8 as kept`;
const WITHIN =
  `at >= date_trunc('hour', to_timestamp($1::float8 / 1000)) and ($2::float8 is null or at < to_timestamp($2::float8 / 1000))
  and ($3::text is null or tool = $3 or right($3, 2) = ':*' and starts_with(tool, left($3, -1)))`;
const ADDED = `calls = telemetry_metrics.calls + excluded.calls, failed = telemetry_metrics.failed + excluded.failed,
  ms = telemetry_metrics.ms + excluded.ms, bytes_in = telemetry_metrics.bytes_in + excluded.bytes_in,
  bytes_out = telemetry_metrics.bytes_out + excluded.bytes_out, kept = telemetry_metrics.kept + excluded.kept`;

/** The statements over the figures of calls. */
export function createMetricsStore(db: Database) {
  const parametersOf = ({ since, until, tool }: UsageQuery) => [since, until ?? null, tool ?? null];
  return {
    /** Adds to the present hour. */
    async add(rows: readonly MetricRow[]): Promise<void> {
      await db.query(
        `insert into telemetry_metrics (span, at, tool, client, made_by, slot, calls, failed, ms, bytes_in, bytes_out, kept)
         select 'hour', date_trunc('hour', now()), tool, client, made_by, slot, calls, failed, ms, bytes_in, bytes_out, kept
         from jsonb_to_recordset($1::jsonb) as x(tool text, client text, made_by text, slot smallint, calls integer,
           failed integer, ms float8, bytes_in bigint, bytes_out bigint, kept bigint)
         on conflict (span, at, tool, client, made_by, slot) do update set ${ADDED}`,
        [[...rows]],
        { isLazy: true },
      );
    },
    /** Sums by group and slot; the gateway's own tools count for none but their tokens. */
    async sums(group: GroupName, query: UsageQuery): Promise<SlotSum[]> {
      return await db.query<SlotSum>(
        `select ${GROUPS[group]} as name, slot::int as slot, ${SUMS} from telemetry_metrics
         where ${WITHIN} and tool not like 'agentcards:%' group by 1, 2`,
        parametersOf(query),
      );
    },
    /** Characters that the answers of workflows and of code had: they did go into a context. */
    async answered({ since, until }: UsageQuery): Promise<number> {
      const [row] = await db.query<{ bytes: number }>(
        `select coalesce(sum(bytes_out), 0)::float8 as bytes from telemetry_metrics where ${WITHIN}
           and tool in ('agentcards:run_workflow', 'agentcards:resume_workflow', 'agentcards:execute_code')`,
        [since, until ?? null, null],
      );
      return row?.bytes ?? 0;
    },
    /** Sums by hour or day and slot; the name is the time in milliseconds since 1970. */
    async series(query: UsageQuery, step: "hour" | "day"): Promise<SlotSum[]> {
      return await db.query<SlotSum>(
        `select (extract(epoch from date_trunc($4, at)) * 1000)::bigint::text as name, slot::int as slot, ${SUMS}
         from telemetry_metrics where ${WITHIN} and tool not like 'agentcards:%' group by 1, 2`,
        [...parametersOf(query), step],
      );
    },
    /** Joins hours that are old enough to days, and forgets days that are too old. */
    async compact(keep: { readonly hourDays: number; readonly days: number }): Promise<void> {
      await db.query(
        `with old as (
           delete from telemetry_metrics where span = 'hour' and at < date_trunc('day', now()) - $1 * interval '1 day'
           returning *
         ) insert into telemetry_metrics (span, at, tool, client, made_by, slot, calls, failed, ms, bytes_in, bytes_out, kept)
         select 'day', date_trunc('day', at), tool, client, made_by, slot, sum(calls), sum(failed), sum(ms), sum(bytes_in),
           sum(bytes_out), sum(kept) from old group by 2, 3, 4, 5, 6
         on conflict (span, at, tool, client, made_by, slot) do update set ${ADDED}`,
        [keep.hourDays],
      );
      await db.query("delete from telemetry_metrics where at < now() - $1 * interval '1 day'", [keep.days]);
    },
  };
}
