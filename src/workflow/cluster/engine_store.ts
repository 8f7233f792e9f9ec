import type { Database } from "../../db/mod.ts";

/** An engine as it registers itself. */
export interface Joining {
  readonly id: string;
  readonly host: string;
  readonly home: string;
  readonly owner: string;
  readonly pid: number;
  readonly version: string;
}

/** A registered engine. */
export interface EngineRow extends Joining {
  readonly epoch: number;
  readonly state: "active" | "draining" | "ended";
  /** The time since it was last heard of, by the clock of the database. */
  readonly quiet_ms: number;
  readonly started_at: number;
  /** The runs that it holds. */
  readonly runs: number;
}

/** A folder of an engine. */
export interface ContextRow {
  readonly engine: string;
  readonly host: string;
  readonly folder: string;
  readonly repository: string | null;
  readonly servers: readonly string[];
  /** True while a client is connected there. */
  readonly is_connected: boolean;
  readonly quiet_ms: number;
}

export type Context = Pick<ContextRow, "folder" | "repository" | "servers">;

const CHANNEL = "agentcards";
const KEPT_DAYS = 30;

/** The tables of engines and contexts. */
export function createEngineStore(db: Database) {
  return {
    /** Registers an engine; gives back the number of its start and the schema that is there. */
    async join(engine: Joining): Promise<{ epoch: number; schema: number }> {
      const [joined] = await db.query<{ epoch: number; schema: number }>(
        `insert into engine (id, host, home, owner, pid, version, epoch, state)
         values ($1, $2, $3, $4, $5, $6, 1, 'active')
         on conflict (id) do update set host = excluded.host, home = excluded.home, owner = excluded.owner,
           pid = excluded.pid, version = excluded.version, state = 'active',
           epoch = engine.epoch + 1, started_at = now(), seen_at = now()
         returning epoch, (select value from config_metadata where key = 'schema_version') as schema`,
        [engine.id, engine.host, engine.home, engine.owner, engine.pid, engine.version],
      );
      await db.query("update context set is_connected = false where engine = $1", [engine.id]);
      await db.query(
        `delete from engine where seen_at < now() - $1 * interval '1 day' and not exists (
           select 1 from workflow_run where workflow_run.engine = engine.id and status in ('running', 'paused'))`,
        [KEPT_DAYS],
      );
      return joined!;
    },
    /** Says that an engine is alive; undefined when another process has taken its place. */
    async beat(id: string, epoch: number): Promise<{ schema: number } | undefined> {
      const [alive] = await db.query<{ schema: number }>(
        `update engine set seen_at = now() where id = $1 and epoch = $2
         returning (select value from config_metadata where key = 'schema_version') as schema`,
        [id, epoch],
      );
      return alive;
    },
    async setState(id: string, epoch: number, state: EngineRow["state"]): Promise<void> {
      await db.query("update engine set state = $3, seen_at = now() where id = $1 and epoch = $2", [id, epoch, state]);
    },
    /** Writes the folders that have a connection now; the others of this engine have none. */
    async putContexts(engine: string, contexts: readonly Context[]): Promise<void> {
      await db.query(
        `with given as (
           select * from json_to_recordset($2::json) as x(folder text, repository text, servers jsonb)
         ), gone as (
           update context set is_connected = false
           where engine = $1 and is_connected and folder not in (select folder from given)
         ), old as (
           delete from context where engine = $1 and seen_at < now() - $3 * interval '1 day'
             and folder not in (select folder from given)
         ) insert into context (engine, folder, repository, servers, is_connected)
         select $1, folder, repository, servers, true from given
         on conflict (engine, folder) do update set repository = excluded.repository, servers = excluded.servers,
           is_connected = true, seen_at = now()`,
        [engine, JSON.stringify(contexts), KEPT_DAYS],
      );
    },
    async engines(): Promise<EngineRow[]> {
      return await db.query<EngineRow>(
        `select id, host, home, owner, pid, version, epoch, state,
           extract(epoch from now() - seen_at)::float8 * 1000 as quiet_ms,
           extract(epoch from started_at)::float8 * 1000 as started_at,
           (select count(*)::int from workflow_run
            where workflow_run.engine = engine.id and status = 'running' and lease_until > now()) as runs
         from engine order by host, home`,
      );
    },
    async contexts(): Promise<ContextRow[]> {
      return await db.query<ContextRow>(
        `select engine, host, folder, repository, servers, is_connected,
           extract(epoch from now() - context.seen_at)::float8 * 1000 as quiet_ms
         from context join engine on engine.id = context.engine order by host, folder, engine`,
      );
    },
    /** True if the engine that a run was taken from cannot do anything any more: it ended, or began anew. */
    async isGone(run: string): Promise<boolean> {
      const [found] = await db.query<{ gone: boolean }>(
        `select e.id is null or e.state = 'ended' or e.started_at > r.taken_at as gone
         from workflow_run r left join engine e on e.id = r.taken_from where r.id = $1`,
        [run],
      );
      return found?.gone ?? true;
    },
    /** Tells all engines. */
    async tell(message: string): Promise<void> {
      await db.query("select pg_notify($1, $2)", [CHANNEL, message]);
    },
  };
}

export type EngineStore = ReturnType<typeof createEngineStore>;
