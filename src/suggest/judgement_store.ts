import type { Database } from "../db/mod.ts";
import type { Judgement } from "../vector/mod.ts";

const DAYS = 365;
/** Rows of each scope: all of them are compared with each search. */
const MOST = 1_000;

/** The judgements of one scope, the newest last. */
export async function readJudgements(db: Database, scope: string): Promise<Judgement[]> {
  await db.query(
    `delete from search_judgement where scope = $1 and (used_at < now() - $2 * interval '1 day' or used_at <
       (select used_at from search_judgement where scope = $1 order by used_at desc offset $3 limit 1))`,
    [scope, DAYS, MOST],
  );
  const rows = await db.query<Judgement>(
    "select request, tool, missing from search_judgement where scope = $1 order by used_at desc limit $2",
    [scope, MOST],
  );
  return rows.reverse();
}

/** Keeps judgements that are new or have changed. */
export async function writeJudgements(db: Database, scope: string, judgements: readonly Judgement[]): Promise<void> {
  await db.query(
    `insert into search_judgement (id, scope, request, tool, missing)
     select md5($1 || chr(31) || request || chr(31) || tool), $1, request, tool, missing
     from jsonb_to_recordset($2::jsonb) as t(request text, tool text, missing real)
     on conflict (id) do update set missing = excluded.missing, used_at = now()`,
    [scope, judgements],
    { isLazy: true },
  );
}
