import type { Database } from "../../db/mod.ts";
import type { HookEvent } from "../../model/mod.ts";

/** The events of the last day, in figures. */
export interface HookFigures {
  readonly total: number;
  /** The time of the newest event of all; null where there is none. */
  readonly last: number | null;
  readonly events: Readonly<Record<string, number>>;
}

/** The table of clients' events. */
export function createHookStore(db: Database) {
  return {
    async add(events: readonly HookEvent[]): Promise<void> {
      await db.query(
        `insert into hook_event (id, at, client, event, session, agent, task, tool, folder, is_direct, content)
         select id, to_timestamp(at / 1000), client, event, session, agent, task, tool, folder, "isDirect", content
         from jsonb_to_recordset($1::jsonb) as t(id text, at float8, client text, event text, session text, agent text,
           task text, tool text, folder text, "isDirect" boolean, content jsonb)
         on conflict (id) do nothing`,
        [[...events]],
      );
    },
    /** The newest events, the newest first. */
    async newest(limit: number): Promise<HookEvent[]> {
      return await db.query<HookEvent & Record<string, unknown>>(
        `select id, extract(epoch from at)::float8 * 1000 as at, client, event, session, agent, task, tool, folder,
           is_direct as "isDirect", content
         from hook_event order by at desc, id limit $1`,
        [limit],
      );
    },
    async figures(): Promise<HookFigures> {
      const rows = await db.query<{ event: string; count: number; last: number }>(
        `select event, (count(*) filter (where at > now() - interval '1 day'))::int as count,
           extract(epoch from max(at))::float8 * 1000 as last
         from hook_event group by event order by event`,
      );
      return {
        total: rows.reduce((sum, { count }) => sum + count, 0),
        last: rows.length === 0 ? null : Math.max(...rows.map(({ last }) => last)),
        events: Object.fromEntries(rows.filter(({ count }) => count > 0).map(({ event, count }) => [event, count])),
      };
    },
    async prune(keep: { readonly days: number; readonly rows: number }): Promise<void> {
      await db.query(
        `delete from hook_event where at < now() - $1 * interval '1 day'
           or at < (select at from hook_event order by at desc offset $2 limit 1)`,
        [keep.days, keep.rows],
      );
    },
  };
}
