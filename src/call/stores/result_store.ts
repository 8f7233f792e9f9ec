import type { Database } from "../../db/mod.ts";

/** A stored result as its table has it. */
export interface ResultRow {
  readonly handle: string;
  readonly tool: string;
  readonly bytes: number;
  readonly run?: string;
}

/** The table of stored results; their values lie in files. */
export function createResultTable(db: Database) {
  return {
    async put({ handle, tool, bytes, run }: ResultRow, ageMs: number): Promise<void> {
      await db.query(
        `insert into result_handle (handle, tool, bytes, expires_at, run)
         values ($1, $2, $3, now() + $4 * interval '1 ms', $5)
         on conflict (handle) do update set run = coalesce(excluded.run, result_handle.run),
           bytes = greatest(excluded.bytes, result_handle.bytes),
           tool = case when result_handle.tool = '' then excluded.tool else result_handle.tool end`,
        [handle, tool, bytes, ageMs, run ?? null],
      );
    },
    /** Keeps the value itself, for engines that do not have its file. */
    async putValue(handle: string, value: string): Promise<void> {
      await db.query("insert into result_value (handle, value) values ($1, $2) on conflict (handle) do nothing", [
        handle,
        value,
      ]);
    },
    async valueOf(handle: string): Promise<string | undefined> {
      const [row] = await db.query<{ value: string }>("select value from result_value where handle = $1", [handle]);
      return row?.value;
    },
    /** Removes the rows that are too old and, oldest first, those over the quota, but none that an open run needs. */
    async prune(mostBytes: number): Promise<string[]> {
      const gone = await db.query<{ handle: string }>(
        `delete from result_handle where handle in (
           select handle from (
             select handle, expires_at, sum(bytes) over (order by created_at desc, handle) as total from result_handle
           ) as held where total > $1 or expires_at < now()
         ) and (run is null or run not in (
           select id from workflow_run
           where status in ('running', 'paused') or status <> 'completed' and result_handle.expires_at >= now()
         ))
         returning handle`,
        [mostBytes],
      );
      return gone.map(({ handle }) => handle);
    },
    async handles(): Promise<Set<string>> {
      const rows = await db.query<{ handle: string }>("select handle from result_handle");
      return new Set(rows.map(({ handle }) => handle));
    },
    async toolOf(handle: string): Promise<string | undefined> {
      const [row] = await db.query<{ tool: string }>("select tool from result_handle where handle = $1", [handle]);
      return row?.tool;
    },
  };
}
