import type { Database } from "../../db/mod.ts";
import type { JsonObject } from "../../model/mod.ts";

/** A workflow file that a person has switched on. */
export interface Switched {
  readonly path: string;
  readonly name: string;
  /** The project's folder; null for a file of the home. */
  readonly folder: string | null;
  readonly hash: string;
  readonly since: number;
  readonly stopped: string | null;
}

export type StartState = "waiting" | "started" | "over" | "failed" | "skipped" | "seen";

export interface StartDetail {
  /** The number of the entry in `on`. */
  readonly entry: number;
  readonly name: string;
  readonly folder: string | null;
  /** The values of the cause, for the input of the run. */
  readonly cause: JsonObject;
  /** The saved workflows that led to the cause. */
  readonly after: readonly string[];
  readonly why?: string;
}

/** A start of a workflow by one cause. */
export interface Start {
  readonly path: string;
  /** The cause, spelled so that the same cause is the same text. */
  readonly cause: string;
  readonly at: number;
  readonly state: StartState;
  readonly run: string | null;
  readonly detail: StartDetail;
}

export type TriggerStore = ReturnType<typeof createTriggerStore>;

type Row = Omit<Start, "detail"> & { readonly detail: string };
const startOf = (row: Row): Start => ({ ...row, detail: JSON.parse(row.detail) });

/** Two years: longer than any cron line rests. */
const KEPT_MS = 2 * 366 * 86_400_000;

export function createTriggerStore(db: Database) {
  async function add(starts: readonly Start[]): Promise<number> {
    if (starts.length === 0) return 0;
    const rows = starts.map(({ detail, ...row }) => ({ ...row, detail: JSON.stringify(detail) }));
    const added = await db.query(
      `insert into trigger_start (path, cause, at, state, run, detail)
       select x.path, x.cause, x.at, x.state, x.run, x.detail
       from json_to_recordset($1::json) as x(path text, cause text, at float8, state text, run text, detail text)
       on conflict do nothing returning 1`,
      [JSON.stringify(rows)],
    );
    return added.length;
  }

  return {
    all: () => db.query<Switched & Record<string, unknown>>("select * from workflow_trigger order by path"),
    async switchOn({ path, name, folder, hash, since }: Omit<Switched, "stopped">): Promise<void> {
      await db.query(
        `insert into workflow_trigger (path, name, folder, hash, since, stopped) values ($1, $2, $3, $4, $5, null)
         on conflict (path) do update set name = excluded.name, folder = excluded.folder, hash = excluded.hash,
           since = excluded.since, stopped = null`,
        [path, name, folder, hash, since],
      );
    },
    async switchOff(path: string): Promise<boolean> {
      const gone = await db.query("delete from workflow_trigger where path = $1 returning 1", [path]);
      return gone.length > 0;
    },
    async stop(path: string, why: string): Promise<void> {
      await db.query("update workflow_trigger set stopped = $2 where path = $1", [path, why]);
    },
    async moveSince(path: string, since: number): Promise<void> {
      await db.query("update workflow_trigger set since = $2 where path = $1", [path, since]);
    },
    /** Writes causes down; gives the number of those that had no row. */
    add,
    async update(
      { path, cause }: Pick<Start, "path" | "cause">,
      { state, run = null, why }: { readonly state: StartState; readonly run?: string | null; readonly why?: string },
    ): Promise<void> {
      await db.query(
        `update trigger_start set state = $3, run = coalesce($4, run),
           detail = case when $5::text is null then detail
             else (detail::jsonb || jsonb_build_object('why', $5::text))::text end
         where path = $1 and cause = $2`,
        [path, cause, state, run, why ?? null],
      );
    },
    async open(path: string): Promise<Start[]> {
      const rows = await db.query<Row & Record<string, unknown>>(
        `select path, cause, at, state, run, detail from trigger_start
         where path = $1 and state in ('waiting', 'started') order by at, cause limit 1000`,
        [path],
      );
      return rows.map(startOf);
    },
    /** Files with open causes, whether they are switched on or not. */
    async openPaths(): Promise<string[]> {
      const rows = await db.query<{ path: string }>(
        "select distinct path from trigger_start where state in ('waiting', 'started')",
      );
      return rows.map(({ path }) => path);
    },
    /** The newest causes of a file. */
    async last(path: string, count: number): Promise<Start[]> {
      const rows = await db.query<Row & Record<string, unknown>>(
        `select path, cause, at, state, run, detail from trigger_start
         where path = $1 and state <> 'seen' order by at desc, cause limit $2`,
        [path, count],
      );
      return rows.map(startOf);
    },
    async startsSince(path: string, at: number): Promise<number> {
      const [row] = await db.query<{ count: number }>(
        `select count(*)::int as count from trigger_start
         where path = $1 and at >= $2 and state in ('waiting', 'started', 'over', 'failed')`,
        [path, at],
      );
      return row!.count;
    },
    /** The causes of a file trigger that are known. */
    async causes(path: string, prefix: string): Promise<string[]> {
      const rows = await db.query<{ cause: string }>(
        "select cause from trigger_start where path = $1 and starts_with(cause, $2)",
        [path, prefix],
      );
      return rows.map(({ cause }) => cause);
    },
    async forget(path: string, causes: readonly string[]): Promise<void> {
      await db.query(
        `delete from trigger_start where path = $1 and state not in ('waiting', 'started')
         and cause in (select x.cause from json_to_recordset($2::json) as x(cause text))`,
        [path, JSON.stringify(causes.map((cause) => ({ cause })))],
      );
    },
    async prune(now: number): Promise<void> {
      await db.query(
        `delete from trigger_start where at < $1 and state not in ('waiting', 'started')
         and not starts_with(cause, 'file ')`,
        [now - KEPT_MS],
      );
    },
  };
}

/** Stops all triggers of a database that came out of a backup: nobody knows which causes have had their start since. */
export async function stopTriggers(db: Database): Promise<number> {
  await db.query(`update trigger_start set state = 'skipped' where state = 'waiting'`);
  const stopped = await db.query(
    "update workflow_trigger set stopped = 'the database was restored from a backup' where stopped is null returning 1",
  );
  return stopped.length;
}
