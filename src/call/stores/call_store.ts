import type { Database } from "../../db/mod.ts";
import type { CallRecord } from "../observer.ts";

/** The calls of the last day, in figures. */
export interface CallFigures {
  readonly total: number;
  readonly failed: number;
  readonly queries: number;
  readonly p95: number | null;
  readonly queries_p95: number | null;
}

/** The tool that a search is recorded as, and the pattern of all tools that are our own. */
const SEARCH = "agentcards:search_tools";
const OWN = "agentcards:%";

/** A call with the time of its end, in milliseconds since 1970. */
export interface FiledCall extends CallRecord {
  readonly at: number;
}

/** The table of recorded calls. */
export function createCallStore(db: Database) {
  return {
    async add(calls: readonly FiledCall[]): Promise<void> {
      await db.query(
        `insert into tool_call (at, tool, ms, ok, bytes, made_by, client, folder, run, task)
         select to_timestamp(at / 1000), tool, ms, ok, bytes, "by", client, folder, run, task from jsonb_to_recordset($1::jsonb) as t(
           at float8, tool text, ms real, ok boolean, bytes integer, "by" text, client text, folder text, run text, task text)`,
        [[...calls]],
        { isLazy: true },
      );
    },
    /** The tools that were called with success among the newest calls. */
    async usedTools(newest: number): Promise<string[]> {
      const rows = await db.query<{ tool: string }>(
        "select distinct tool from (select tool, ok from tool_call order by at desc limit $1) as newest where ok",
        [newest],
      );
      return rows.map(({ tool }) => tool);
    },
    async prune(keep: { readonly days: number; readonly rows: number }): Promise<void> {
      await db.query(
        `delete from tool_call where at < now() - $1 * interval '1 day'
           or at < (select at from tool_call order by at desc offset $2 limit 1)`,
        [keep.days, keep.rows],
      );
    },
    /** Calls and failures of each of the last minutes, the oldest first; searches and the like are not calls. */
    async minutes(count: number): Promise<{ readonly calls: number; readonly failed: number }[]> {
      return await db.query(
        `select count(tool)::int as calls, (count(tool) filter (where not ok))::int as failed
         from generate_series($1::int - 1, 0, -1) as ago
         left join tool_call on at > now() - (ago + 1) * interval '1 minute' and at <= now() - ago * interval '1 minute'
           and tool not like $2
         group by ago order by ago desc`,
        [count, OWN],
      );
    },
    async figures(): Promise<CallFigures> {
      const [row] = await db.query<CallFigures>(
        `select count(*) filter (where tool not like $2)::int as total, count(*) filter (where tool = $1)::int as queries,
           count(*) filter (where not ok)::int as failed,
           percentile_cont(0.95) within group (order by ms) filter (where tool not like $2) as p95,
           percentile_cont(0.95) within group (order by ms) filter (where tool = $1) as queries_p95
         from tool_call where at > now() - interval '1 day'`,
        [SEARCH, OWN],
      );
      return row!;
    },
  };
}
