import type { Database } from "../../db/mod.ts";
import { AgentCardsError, type JsonObject, messageOf } from "../../model/mod.ts";
import { createCommitQueue } from "./commit_queue.ts";
import { eventOf, type EventRow, rowOf, taken, unusable } from "./rows.ts";
import type { RunEvent, RunStatus } from "../event.ts";
import { createFold, type Fold, FOLD_VERSION, snapshotOf } from "../state.ts";
import type { RunState } from "../run_state.ts";
import type { RunHead, RunRow } from "./run_row.ts";

/** The right to write on in a run's journal. */
export interface Writer {
  readonly run: string;
  /** Resolves once the row cannot be lost any more; rejects when another runner has taken over. */
  append(event: RunEvent, summary?: JsonObject): Promise<void>;
  /** Keeps what the rows up to the state's add up to, so that reading them again is short. */
  snapshot(state: RunState): Promise<void>;
  /** Told once when another runner has taken over. */
  readonly lost: Promise<AgentCardsError>;
  /** Ends the heartbeat. */
  close(): void;
  /** Lets others take the run up at once, when it breaks off. */
  release(): void;
  /** Says anew what the run needs, after tasks were added. */
  rehead(head: Pick<RunHead, "fingerprint" | "servers" | "variables">): Promise<void>;
}

export interface Journal {
  begin(head: RunHead): Writer;
  /**
   * Takes a run that rests, that failed or was aborted, or whose runner is gone, with the first rows to write; undefined
   * when somebody was faster.
   */
  take(
    row: Pick<RunRow, "id" | "epoch">,
    first: readonly RunEvent[],
    summary: JsonObject,
  ): Promise<Writer | undefined>;
  /** Writes down a decision about a run that rests; false when it does not rest any more. */
  note(row: Pick<RunRow, "id" | "epoch">, events: readonly RunEvent[], summary: JsonObject): Promise<boolean>;
  find(id: string): Promise<RunRow | undefined>;
  /** The id of the run that a client's request started or decided about, by the request's key. */
  runOf(request: string): Promise<string | undefined>;
  /** A run's state so far, to be gone on from. */
  open(id: string): Promise<Fold>;
  events(id: string): Promise<RunEvent[]>;
  list(filter?: RunFilter): Promise<RunRow[]>;
  /** Gives up the leases of runs that nobody in this process runs, after the database was opened anew. */
  recover(): Promise<void>;
  /** The reason why the journal is not whole: a run without its rows, rows without their run, a row that is missing. */
  damage(): Promise<string | undefined>;
  prune(keep: { readonly ageMs: number; readonly count: number; readonly bytes: number }): Promise<number>;
  close(): Promise<void>;
}

export interface RunFilter {
  readonly status?: readonly RunStatus[];
  readonly cwd?: string;
  /** The connection whose requests started them. */
  readonly connection?: string;
  readonly limit?: number;
}

export interface JournalOptions {
  readonly leaseMs?: number;
  /** Whether nobody else can have this database open: then leases of before are worth nothing. */
  readonly isAlone: boolean;
  /** False once another process may have this database open: then nothing is acknowledged any more. */
  isStillOurs?(): boolean;
  /** The reason for which there is no database. */
  problem?(): AgentCardsError | undefined;
}

const LEASE_MS = 15_000;

/** The journal of all runs: rows are gathered while a commit is under way and go out together in the next one. */
export function createJournal(database: Promise<Database | undefined>, options: JournalOptions): Journal {
  const leaseMs = options.leaseMs ?? LEASE_MS;
  const open = new Map<string, Open>();
  let opened: Promise<Database> | undefined;
  let beat: ReturnType<typeof setInterval> | undefined;

  const ready = () => {
    const opening = opened ??= openOnce();
    // A database that could not be opened may be back for whoever asks next.
    opening.catch(() => opened = undefined);
    return opening;
  };
  async function openOnce(): Promise<Database> {
    const db = await database;
    if (!db) {
      const problem = options.problem?.();
      const why = problem?.message ?? "it cannot be opened";
      throw new AgentCardsError("DB_UNUSABLE", `Workflows need the database: ${why}`, {
        hint: problem?.hint ?? "`agentcards status` says what is wrong with it.",
        data: { isUnwritten: true },
      });
    }
    if (options.isAlone) {
      await db.query("update workflow_run set lease_until = least(lease_until, now()) where status = 'running'");
    }
    return db;
  }
  const queue = createCommitQueue(ready, { leaseMs, isStillOurs: options.isStillOurs ?? (() => true) });

  /** Keeps the leases; a run that is not ours any more hears of it. */
  async function renew(): Promise<void> {
    // One whose first row is still on the way has nothing to be kept yet.
    const mine = [...open.values()].filter(({ isWritten }) => isWritten);
    if (mine.length === 0) return;
    try {
      const db = await ready();
      const kept = await db.query<{ id: string; epoch: number }>(
        `update workflow_run r set lease_until = now() + $2 * interval '1 ms'
         from json_to_recordset($1::json) as x(id text, epoch integer)
         where r.id = x.id and r.epoch = x.epoch returning r.id, r.epoch`,
        [JSON.stringify(mine.map(({ run, epoch }) => ({ id: run, epoch }))), leaseMs],
      );
      const stillMine = new Set(kept.map(({ id, epoch }) => `${id} ${epoch}`));
      for (const { run, epoch, lose } of mine) if (!stillMine.has(`${run} ${epoch}`)) lose(taken(run));
    } catch {
      // The next beat tries again; a row that cannot be written says so to its writer.
    }
  }

  function writer(run: string, epoch: number, head?: RunHead): Writer {
    const lost = Promise.withResolvers<AgentCardsError>();
    const entry: Open = { run, epoch, isWritten: head === undefined, lose: lost.resolve };
    open.set(`${run} ${epoch}`, entry);
    beat ??= setInterval(renew, leaseMs / 3);
    if (head) queue.begin(head, epoch);
    return {
      run,
      lost: lost.promise,
      append: (event, summary) =>
        queue.append({ run, epoch, event, ...summary && { summary } }).then(() => {
          entry.isWritten = true;
        }, (error) => {
          const problem = error instanceof AgentCardsError ? error : unusable(error);
          lost.resolve(problem);
          throw problem;
        }),
      async snapshot(state) {
        const json = JSON.stringify(snapshotOf(state));
        await (await ready()).query(
          `insert into workflow_snapshot (run, seq, state) select $1, $2, $3
           from workflow_run where id = $1 and epoch = $4
           on conflict (run) do update set seq = excluded.seq, state = excluded.state`,
          [run, state.seq, json, epoch],
        );
      },
      release() {
        ready().then((db) =>
          db.query(
            "update workflow_run set lease_until = now() where id = $1 and epoch = $2 and status = 'running'",
            [run, epoch],
          )
        ).catch(() => {
          // Then the lease runs out by itself.
        });
      },
      async rehead({ fingerprint, servers, variables }) {
        await (await ready()).query(
          "update workflow_run set fingerprint = $3, servers = $4, variables = $5 where id = $1 and epoch = $2",
          [run, epoch, fingerprint, [...servers], [...variables]],
        );
      },
      close() {
        open.delete(`${run} ${epoch}`);
        if (open.size > 0) return;
        clearInterval(beat);
        beat = undefined;
      },
    };
  }

  async function find(where: string, parameters: readonly unknown[]): Promise<RunRow[]> {
    const db = await ready();
    const rows = await db.query<Record<string, unknown> & { summary: string }>(
      `select id, name, status, cwd, fingerprint, servers, variables, summary, epoch, lease_until > now() as held,
         extract(epoch from lease_until)::float8 * 1000 as seen,
         extract(epoch from created_at)::float8 * 1000 as created, extract(epoch from updated_at)::float8 * 1000 as updated
       from workflow_run ${where}`,
      parameters,
    );
    return rows.map(({ held, summary, ...row }) =>
      ({ ...row, summary: JSON.parse(summary), isHeld: held === true }) as unknown as RunRow
    );
  }

  async function rows(id: string, after: number): Promise<RunEvent[]> {
    const found = await (await ready()).query<EventRow>(
      "select seq, at, kind, task, attempt, payload from workflow_event where run = $1 and seq > $2 order by seq",
      [id, after],
    );
    return found.map(eventOf);
  }

  return {
    begin: (head) => writer(head.id, 1, head),
    async take({ id, epoch }, first, summary) {
      const [won] = await (await ready()).query<{ epoch: number }>(
        `with taken as (
           update workflow_run set epoch = epoch + 1, status = 'running', summary = $5, updated_at = now(),
             lease_until = now() + $4 * interval '1 ms'
           where id = $1 and epoch = $2 and status <> 'completed' and (status <> 'running' or lease_until < now())
           returning id, epoch
         ), written as (
           insert into workflow_event (run, seq, epoch, at, kind, task, attempt, payload, request)
           select taken.id, x.seq, taken.epoch, x.at, x.kind, x.task, x.attempt, x.payload, x.request
           from taken cross join json_to_recordset($3::json)
             as x(seq integer, at float8, kind text, task text, attempt integer, payload text, request text)
         ) select epoch from taken`,
        [id, epoch, JSON.stringify(first.map(rowOf)), leaseMs, JSON.stringify(summary)],
      ).catch((error) => {
        // Its runner was alive after all and has written on meanwhile.
        if (/duplicate key/.test(messageOf(error))) return [];
        throw error;
      });
      return won && writer(id, won.epoch);
    },
    async note({ id, epoch }, events, summary) {
      const written = await (await ready()).query(
        `with noted as (
           update workflow_run set epoch = epoch + 1, summary = $4, updated_at = now()
           where id = $1 and epoch = $2 and (status = 'paused' or status = 'running' and lease_until < now())
           returning id, epoch
         ) insert into workflow_event (run, seq, epoch, at, kind, task, attempt, payload, request)
         select noted.id, x.seq, noted.epoch, x.at, x.kind, x.task, x.attempt, x.payload, x.request
         from noted cross join json_to_recordset($3::json)
           as x(seq integer, at float8, kind text, task text, attempt integer, payload text, request text) returning 1`,
        [id, epoch, JSON.stringify(events.map(rowOf)), JSON.stringify(summary)],
      );
      return written.length > 0;
    },
    find: async (id) => (await find("where id = $1", [id]))[0],
    async runOf(request) {
      // A row that is on its way counts.
      await queue.settled();
      const [found] = await (await ready()).query<{ run: string }>(
        `select id as run from workflow_run where request = $1
         union all select run from workflow_event where request = $1 limit 1`,
        [request],
      );
      return found?.run;
    },
    async open(id) {
      const [kept] = await (await ready()).query<{ state: string }>(
        "select state from workflow_snapshot where run = $1",
        [id],
      );
      const snapshot = kept && JSON.parse(kept.state);
      const fold = createFold(snapshot?.version === FOLD_VERSION ? snapshot : undefined);
      for (const event of await rows(id, fold.state.seq)) {
        if (event.seq !== fold.state.seq + 1) throw unusable(`row ${fold.state.seq + 1} of ${id} is missing`);
        fold.add(event);
      }
      return fold;
    },
    events: (id) => rows(id, 0),
    list: ({ status, cwd, connection, limit } = {}) =>
      find(
        `where ($1::jsonb is null or $1::jsonb ? status) and ($2::text is null or cwd = $2)
           and ($4::text is null or starts_with(request, $4))
         order by created_at desc, id limit $3`,
        [status ? JSON.stringify(status) : null, cwd ?? null, limit ?? 1_000, connection ? `${connection}:` : null],
      ),
    async damage() {
      const [found] = await (await ready()).query<{ id: string; others: number }>(
        `select coalesce(id, run) as id, (count(*) over () - 1)::int as others
         from workflow_run full join
           (select run, count(*) as rows, max(seq) as last from workflow_event group by run) as kept on run = id
         where id is null or run is null or rows <> last
         limit 1`,
        [],
        { isLong: true },
      );
      if (!found) return undefined;
      const { id, others } = found;
      return `rows of ${id}${others > 0 ? ` and ${others} other ${others === 1 ? "run" : "runs"}` : ""} are missing`;
    },
    async recover() {
      const mine = [...open.values()].map(({ run }) => run);
      await (await ready()).query(
        `update workflow_run set lease_until = least(lease_until, now())
         where status = 'running' and not ($1::jsonb ? id)`,
        [JSON.stringify(mine)],
      );
    },
    async prune({ ageMs, count, bytes }) {
      // The sum by runs reads every row, so it is made only where the table may be too large.
      const gone = await (await ready()).query(
        `with sized as (
           select run, sum(pg_column_size(payload)) as bytes from workflow_event
           where pg_total_relation_size('workflow_event') > $3 group by run
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
    async close() {
      clearInterval(beat);
      await queue.settled();
    },
  };
}

interface Open {
  readonly run: string;
  readonly epoch: number;
  /** Whether the database knows of it. */
  isWritten: boolean;
  lose(reason: AgentCardsError): void;
}
