import type { Database } from "../../db/mod.ts";
import { isDuplicate } from "../../db/start.ts";
import type { JsonObject } from "../../model/mod.ts";
import type { Happening, RunEvent, RunStatus } from "../event.ts";
import type { RunFilter, RunHead, RunRow } from "./run_row.ts";

/** A run under the epoch of one of its runners. */
export interface Held {
  readonly run: string;
  readonly epoch: number;
}

/** A row that is to be written; `summary` goes with a change of the run's status. */
export interface Entry extends Held {
  readonly event: RunEvent;
  readonly summary?: JsonObject;
}

/** The head of a run that begins with the batch it is written with. */
export interface Begun {
  readonly head: RunHead;
  readonly epoch: number;
}

export interface Kept {
  readonly ageMs: number;
  readonly count: number;
  readonly bytes: number;
}

export type JournalStore = ReturnType<typeof createJournalStore>;

export interface JournalStoreOptions {
  readonly leaseMs: number;
  /** The engine that takes runs, where several share the database. */
  readonly engine?: RunEngine | undefined;
}

/** An engine among several: its name, its machine, and the person whose runs it sees. */
export interface RunEngine {
  readonly id: string;
  readonly host: string;
  readonly owner: string;
  /** True if engines of other people see the runs that begin here. */
  readonly isShared: boolean;
}

/** The runs that an engine looks for. */
export interface Claim {
  readonly folders: readonly string[];
  /** Those that it could not take up. */
  readonly without: readonly string[];
  readonly limit: number;
}

/**
 * The statements of the journal. Whatever writes for a run names the epoch it writes under, and writes nothing when the
 * run has another one. On a database of many connections the row of the run is locked first (`for share`): else a
 * statement that began before a take-over could write after it.
 */
export function createJournalStore(db: Database, { leaseMs, engine }: JournalStoreOptions) {
  const seen = engine === undefined ? "" : `and (owner is null or owner = ${literal(engine.owner)} or share = 'team')`;
  const notOurs = engine === undefined ? "" : `and claimed_by is distinct from ${literal(engine.id)}`;
  async function find(where: string, parameters: readonly unknown[], order = ""): Promise<RunRow[]> {
    const rows = await db.query<Record<string, unknown> & { summary: string }>(
      `select id, name, status, cwd, fingerprint, servers, variables, summary, epoch, engine, host,
         lease_until > now() ${notOurs} as held, extract(epoch from now() - lease_until)::float8 * 1000 as quiet,
         taken_from, extract(epoch from now() - taken_at)::float8 * 1000 as taken,
         extract(epoch from created_at)::float8 * 1000 as created, extract(epoch from updated_at)::float8 * 1000 as updated
       from workflow_run where (${where}) ${seen} ${order}`,
      parameters,
    );
    return rows.map(({ held, summary, taken_from: takenFrom, ...row }) =>
      ({ ...row, takenFrom, summary: JSON.parse(summary), isHeld: held === true }) as unknown as RunRow
    );
  }

  return {
    /** Ends the leases of all running runs of this engine but those in `mine`. */
    async endLeases(mine: readonly string[]): Promise<void> {
      await db.query(
        `update workflow_run set lease_until = least(lease_until, now())
         where status = 'running' and not ($1::jsonb ? id) and ($2::text is null or engine = $2)`,
        [JSON.stringify(mine), engine?.id ?? null],
      );
    },
    /** Renews leases; gives back those that are still held under the same epoch. */
    async renew(mine: readonly Held[]): Promise<Held[]> {
      return await db.query<Held>(
        `update workflow_run r set lease_until = now() + $2 * interval '1 ms', claimed_by = null
         from json_to_recordset($1::json) as x(run text, epoch integer)
         where r.id = x.run and r.epoch = x.epoch returning r.id as run, r.epoch`,
        [JSON.stringify(mine.map(({ run, epoch }) => ({ run, epoch }))), leaseMs],
      );
    },
    commit: (heads: readonly Begun[], batch: readonly Entry[]) => commit(db, heads, batch, { leaseMs, engine }),
    async snapshot({ run, epoch }: Held, seq: number, state: string): Promise<void> {
      await db.query(
        `insert into workflow_snapshot (run, seq, state) select $1, $2, $3
         from workflow_run where id = $1 and epoch = $4 for share
         on conflict (run) do update set seq = excluded.seq, state = excluded.state`,
        [run, seq, state, epoch],
      );
    },
    async release({ run, epoch }: Held): Promise<void> {
      await db.query(
        "update workflow_run set lease_until = now() where id = $1 and epoch = $2 and status = 'running'",
        [run, epoch],
      );
    },
    async rehead({ run, epoch }: Held, head: Pick<RunHead, "fingerprint" | "servers" | "variables">): Promise<void> {
      await db.query(
        "update workflow_run set fingerprint = $3, servers = $4, variables = $5 where id = $1 and epoch = $2",
        [run, epoch, head.fingerprint, [...head.servers], [...head.variables]],
      );
    },
    /** Takes a run over with its first rows: its new epoch, or undefined when another runner was faster. */
    async take({ run, epoch }: Held, first: readonly RunEvent[], summary: JsonObject): Promise<number | undefined> {
      const [won] = await db.query<{ epoch: number }>(
        `with taken as (
           update workflow_run set epoch = epoch + 1, status = 'running', summary = $5, updated_at = now(),
             lease_until = now() + $4 * interval '1 ms', engine = $6, host = coalesce($7, host), claimed_by = null,
             is_decided = null, taken_from = case when status = 'running' and engine <> $6 then engine else taken_from end,
             taken_at = case when status = 'running' and engine <> $6 then now() else taken_at end
           where id = $1 and epoch = $2 and status <> 'completed'
             and (status <> 'running' or lease_until < now() or claimed_by = $6)
           returning id, epoch
         ), written as (
           insert into workflow_event (run, seq, epoch, at, kind, task, attempt, payload, request)
           select taken.id, x.seq, taken.epoch, x.at, x.kind, x.task, x.attempt, x.payload, x.request
           from taken cross join json_to_recordset($3::json)
             as x(seq integer, at float8, kind text, task text, attempt integer, payload text, request text)
         ) select epoch from taken`,
        [
          run,
          epoch,
          JSON.stringify(first.map(rowOf)),
          leaseMs,
          JSON.stringify(summary),
          engine?.id ?? null,
          engine?.host ?? null,
        ],
      ).catch((error) => {
        // Its runner was alive after all and has written on meanwhile.
        if (isDuplicate(error)) return [];
        throw error;
      });
      return won?.epoch;
    },
    /** Reserves runs whose runner is gone for this engine, the urgent ones first, and tells their ids. */
    async claim({ folders, without, limit }: Claim): Promise<string[]> {
      const claimed = await db.query<{ id: string }>(
        `update workflow_run set claimed_by = $1, lease_until = now() + $2 * interval '1 ms'
         where id in (
           select id from workflow_run
           where (status = 'running' or status = 'paused' and is_decided) and lease_until < now()
             and host = $3 and $4::jsonb ? cwd and not ($5::jsonb ? id) ${seen}
           order by priority desc nulls last, updated_at limit $6 for update skip locked
         ) returning id`,
        [engine?.id ?? null, leaseMs, engine?.host ?? null, JSON.stringify(folders), JSON.stringify(without), limit],
      );
      return claimed.map(({ id }) => id);
    },
    /** Gives a reserved run back. */
    async unclaim(run: string): Promise<void> {
      await db.query(
        "update workflow_run set claimed_by = null, lease_until = now() where id = $1 and claimed_by = $2",
        [run, engine?.id ?? null],
      );
    },
    /** Writes rows for a run that rests, under a new epoch; false when it does not rest any more. */
    async note({ run, epoch }: Held, events: readonly RunEvent[], summary: JsonObject): Promise<boolean> {
      const written = await db.query(
        `with noted as (
           update workflow_run set epoch = epoch + 1, summary = $4, updated_at = now(), is_decided = true,
             lease_until = least(lease_until, now())
           where id = $1 and epoch = $2 and (status = 'paused' or status = 'running' and lease_until < now())
           returning id, epoch
         ) insert into workflow_event (run, seq, epoch, at, kind, task, attempt, payload, request)
         select noted.id, x.seq, noted.epoch, x.at, x.kind, x.task, x.attempt, x.payload, x.request
         from noted cross join json_to_recordset($3::json)
           as x(seq integer, at float8, kind text, task text, attempt integer, payload text, request text) returning 1`,
        [run, epoch, JSON.stringify(events.map(rowOf)), JSON.stringify(summary)],
      );
      return written.length > 0;
    },
    find: async (id: string) => (await find("id = $1", [id]))[0],
    list: ({ status, cwd, connection, limit, text, before }: RunFilter) =>
      find(
        `($1::jsonb is null or $1::jsonb ? status) and ($2::text is null or cwd = $2)
           and ($4::text is null or starts_with(request, $4))
           and ($5::text is null or strpos(lower(name), $5) > 0 or strpos(id, $5) > 0)
           and ($6::float8 is null or created_at < to_timestamp($6 / 1000))`,
        [
          status ? JSON.stringify(status) : null,
          cwd ?? null,
          limit ?? 1_000,
          connection ? `${connection}:` : null,
          text?.toLowerCase() ?? null,
          before ?? null,
        ],
        "order by created_at desc, id limit $3",
      ),
    async known(runs: readonly string[]): Promise<string[]> {
      const found = await db.query<{ id: string }>("select id from workflow_run where $1::jsonb ? id", [
        JSON.stringify(runs),
      ]);
      return found.map(({ id }) => id);
    },
    async runOf(request: string): Promise<string | undefined> {
      const [found] = await db.query<{ run: string }>(
        `select id as run from workflow_run where request = $1
         union all select run from workflow_event where request = $1 limit 1`,
        [request],
      );
      return found?.run;
    },
    async rows(run: string, after: number): Promise<RunEvent[]> {
      const found = await db.query<EventRow>(
        "select seq, at, kind, task, attempt, payload from workflow_event where run = $1 and seq > $2 order by seq",
        [run, after],
      );
      return found.map(eventOf);
    },
    /** The newest snapshot of a run, as it was written. */
    async snapshotOf(run: string): Promise<string | undefined> {
      const [kept] = await db.query<{ state: string }>("select state from workflow_snapshot where run = $1", [run]);
      return kept?.state;
    },
    /** A run without its rows, rows without their run or a run with a missing row, and how many others there are. */
    async damaged(): Promise<{ readonly id: string; readonly others: number } | undefined> {
      const [found] = await db.query<{ id: string; others: number }>(
        `select coalesce(id, run) as id, (count(*) over () - 1)::int as others
         from workflow_run full join
           (select run, count(*) as rows, max(seq) as last from workflow_event group by run) as kept on run = id
         where id is null or run is null or rows <> last
         limit 1`,
        [],
        { isLong: true },
      );
      return found;
    },
    /** Removes runs that are over and too old, too many or, with all newer ones, too large. */
    async prune({ ageMs, count, bytes }: Kept): Promise<number> {
      // The sum by runs reads every row, so it is made only where the table may be too large. The size of the table is a
      // subquery: as a plain condition PostgreSQL would ask the file system for it once per row.
      const gone = await db.query(
        `with sized as (
           select run, sum(pg_column_size(payload)) as bytes from workflow_event
           where (select pg_total_relation_size('workflow_event')) > $3 group by run
         ), summed as (
           select id, sum(coalesce(bytes, 0)) over (order by created_at desc, id) as bytes
           from workflow_run left join sized on sized.run = id
         ), gone as (
           delete from workflow_run where status in ('completed', 'partial', 'failed', 'aborted') and (
             updated_at < now() - $1 * interval '1 ms' or id in (
               select id from workflow_run order by created_at desc offset $2
             ) or id in (select id from summed where bytes > $3)) returning id
         ), rows as (delete from workflow_event where run in (select id from gone)),
         snapshots as (delete from workflow_snapshot where run in (select id from gone))
         select 1 from gone`,
        [ageMs, count, bytes],
      );
      return gone.length;
    },
  };
}

/** A text of our own as SQL has it. */
const literal = (text: string) => `'${text.replaceAll("'", "''").replaceAll("\\", "")}'`;

/** The key of a run under one of its epochs. */
export const keyOf = ({ run, epoch }: Held) => `${run} ${epoch}`;

const FRESH = `fresh as (
    insert into workflow_run (id, name, status, cwd, fingerprint, servers, variables, summary, request, epoch,
      engine, host, priority, owner, share, lease_until)
    select id, name, status, cwd, fingerprint, servers, variables, summary, request, epoch, engine, host, priority,
      owner, share, now() + $4 * interval '1 ms'
    from json_to_recordset($3::json) as x(id text, name text, status text, cwd text, fingerprint text, servers jsonb,
      variables jsonb, summary text, request text, epoch integer, engine text,
      host text, priority smallint, owner text, share text)
    returning id, epoch)`;

const HELD = `held as (
    select id, epoch from workflow_run where id in (select json_array_elements_text($2::json)) for share)`;

/** Reads `held` first: a row that its own statement has changed already cannot be locked by it. */
const CHANGED = (heads: string) =>
  `changed as (
    update workflow_run r set status = x.status, summary = x.summary, updated_at = now()
    from held join json_to_recordset(${heads}::json) as x(run text, epoch integer, status text, summary text)
      on held.id = x.run and held.epoch = x.epoch
    where r.id = held.id and r.epoch = held.epoch)`;

const ROWS = (live: string) => `
  insert into workflow_event (run, seq, epoch, at, kind, task, attempt, payload, request)
  select x.run, x.seq, x.epoch, x.at, x.kind, x.task, x.attempt, x.payload, x.request
  from json_to_recordset($1::json) as x(run text, epoch integer, seq integer, at float8, kind text, task text,
    attempt integer, payload text, request text)
  where exists (select 1 from ${live} as r where r.id = x.run and r.epoch = x.epoch)
  returning run, epoch`;

/** Writes a batch; gives back the keys of the runs and epochs that were really written to. */
async function commit(
  db: Database,
  heads: readonly Begun[],
  batch: readonly Entry[],
  { leaseMs, engine }: JournalStoreOptions,
): Promise<Set<string>> {
  const changes = new Map<string, Held & { status: RunStatus; summary: string }>();
  for (const { run, epoch, event, summary } of batch) {
    const status = statusAfter(event);
    if (status) changes.set(run, { run, epoch, status, summary: JSON.stringify(summary ?? {}) });
  }
  // A row cannot be inserted and updated by one statement.
  const fresh = heads.map(({ head, epoch }) => {
    const change = changes.get(head.id);
    changes.delete(head.id);
    return {
      ...head,
      epoch,
      ...engine && {
        engine: engine.id,
        host: engine.host,
        owner: engine.owner,
        share: engine.isShared ? "team" : "private",
      },
      status: change?.status ?? "running",
      summary: change?.summary ?? JSON.stringify(head.summary),
    };
  });
  const rows = JSON.stringify(batch.map(({ run, epoch, event }) => ({ run, epoch, ...rowOf(event) })));
  const runs = JSON.stringify([...new Set(batch.map(({ run }) => run))]);
  // Only the parts that are needed: the usual batch is just rows, and planning the whole takes as long as running it.
  const [parameters, parts]: [unknown[], string[]] = [[rows, runs], []];
  if (fresh.length > 0) {
    parameters.push(JSON.stringify(fresh), leaseMs);
    parts.push(FRESH);
  }
  parts.push(HELD);
  if (changes.size > 0) {
    parameters.push(JSON.stringify([...changes.values()]));
    parts.push(CHANGED(`$${parameters.length}`));
  }
  const live = fresh.length > 0 ? "(select id, epoch from fresh union all select id, epoch from held)" : "held";
  const written = await db.query<Held>(`with ${parts.join(", ")} ${ROWS(live)}`, parameters, { isOften: true });
  return new Set(written.map(keyOf));
}

function statusAfter(event: RunEvent): RunStatus | undefined {
  if (event.kind === "paused") return "paused";
  if (event.kind === "resumed") return "running";
  return event.kind === "finished" ? event.status : undefined;
}

/** A happening as the database has it. */
interface EventRow {
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly task: string | null;
  readonly attempt: number | null;
  readonly payload: string;
  /** The client's request that it is the decision of. */
  readonly request?: string;
}

/** An event as a row: what one would look for in columns of its own, the rest as JSON. */
function rowOf(event: RunEvent): EventRow {
  const { seq, at, kind, ...rest } = event;
  const { task = null, attempt = null, request, ...payload } = rest as {
    task?: string;
    attempt?: number;
    request?: string;
  };
  return { seq, at, kind, task, attempt, payload: JSON.stringify(payload), ...request !== undefined && { request } };
}

/** A row as an event. The request is not read back: nothing that happens depends on it. */
function eventOf({ seq, at, kind, task, attempt, payload }: EventRow): RunEvent {
  return {
    seq,
    at,
    kind,
    ...task !== null && { task },
    ...attempt !== null && { attempt },
    ...JSON.parse(payload),
  } as unknown as Happening & { seq: number; at: number };
}
