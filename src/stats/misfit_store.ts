import type { Database } from "../db/mod.ts";

/** A tool whose results do not fit the output schema that it declares. */
export interface Misfit {
  readonly tool: string;
  /** Results that did not fit, of those that were checked. */
  readonly misfits: number;
  /** The newest problem. */
  readonly problem: string;
}

/** The statements over results that do not fit. */
export function createMisfitStore(db: Database) {
  return {
    async add(found: readonly Misfit[]): Promise<void> {
      await db.query(
        `insert into result_misfit (tool, misfits, problem)
         select tool, misfits, problem from jsonb_to_recordset($1::jsonb) as x(tool text, misfits integer, problem text)
         on conflict (tool) do update set misfits = result_misfit.misfits + excluded.misfits, problem = excluded.problem,
           at = now()`,
        [[...found]],
        { isLazy: true },
      );
    },
    /** Those that were found since a time, the most first; of one tool, or of those of one server. */
    async list(since: number, tool?: string): Promise<Misfit[]> {
      return await db.query<Misfit>(
        `select tool, misfits, problem from result_misfit where at >= to_timestamp($1::float8 / 1000)
           and ($2::text is null or tool = $2 or right($2, 2) = ':*' and starts_with(tool, left($2, -1)))
         order by misfits desc, tool limit 100`,
        [since, tool ?? null],
      );
    },
    async prune(days: number): Promise<void> {
      await db.query("delete from result_misfit where at < now() - $1 * interval '1 day'", [days]);
    },
  };
}
