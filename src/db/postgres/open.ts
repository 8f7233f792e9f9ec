import { AgentCardsError, messageOf, within } from "../../model/mod.ts";
import postgres from "postgres";
import {
  type Database,
  type EndableDatabase,
  type ExecOptions,
  noDatabase,
  type Queryable,
  type QueryOptions,
} from "../database.ts";
import { migrate, readMigrations } from "../migrate.ts";
import { TYPES } from "./values.ts";

export interface PostgresOptions {
  /** The most connections at once. */
  readonly connections?: number;
  readonly deadlines?: Partial<Deadlines>;
  /** False for a database that is not ours: its tables are those of the caller. */
  readonly isOwn?: boolean;
  /** Told of each statement that found no server, or lost it on the way. */
  onLost?(reason: AgentCardsError): void;
}

/** A database on a server that several processes share. */
export interface ServerDatabase extends EndableDatabase {
  /** Hears what any process says on a channel, after a lost connection, too; `onStart` is told each time it begins. */
  listen(channel: string, onMessage: (message: string) => void, onStart?: () => void): Promise<void>;
}

interface Deadlines {
  readonly connectMs: number;
  readonly statementMs: number;
  /** For a migration and the making of an index. */
  readonly longMs: number;
}

const DEADLINES: Deadlines = { connectMs: 10_000, statementMs: 8_000, longMs: 300_000 };
/** The server ends a statement by itself; one that does not even say so is given up this much later. */
const GRACE_MS = 2_000;
const CONNECTIONS = 8;
/** Rows that nobody waits for have connections of their own: their commits do not wait for the disk. */
const LAZY_CONNECTIONS = 2;
const CLOSE_S = 3;
/** A connection that is not used for so long is given back to the server. */
const IDLE_S = 60;

/** A pool of connections, one of them, or a transaction on one. */
interface Client {
  unsafe(sql: string, parameters?: unknown[], options?: { prepare?: boolean }): Promise<Iterable<unknown>>;
  typed(value: unknown, type: number): unknown;
}

/** Opens (and migrates) the database that a URL names: `postgres://USER@HOST:PORT/NAME`. */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<ServerDatabase> {
  const deadlines = { ...DEADLINES, ...options.deadlines };
  const { connectMs, statementMs, longMs } = deadlines;
  const pool = (max: number, settings: Record<string, string>) =>
    postgres(url, {
      max,
      idle_timeout: IDLE_S,
      connect_timeout: connectMs / 1_000,
      onnotice: () => {},
      types: TYPES,
      connection: {
        application_name: "agentcards",
        statement_timeout: statementMs,
        // A process that is stopped in the middle of a transaction must not keep its locks.
        idle_in_transaction_session_timeout: statementMs + GRACE_MS,
        ...settings,
      },
    });
  /** Rejects with the one error that stores know, and tells of a server that is away. */
  const told = (error: unknown): never => {
    const problem = problemOf(error);
    if (isAway(problem)) options.onLost?.(problem);
    throw problem;
  };
  const strict = pool(options.connections ?? CONNECTIONS, {});
  const lazy = pool(LAZY_CONNECTIONS, { synchronous_commit: "off" });

  /** Ends the wait for a statement that the server neither answers nor ends. */
  async function timed<T>({ isLong }: ExecOptions, work: Promise<T>): Promise<T> {
    const ms = (isLong ? longMs : statementMs) + GRACE_MS;
    return await within(work, ms, SILENT).catch(told);
  }

  /** Runs a statement on a pool; one that takes long has a connection to itself, with a later deadline. */
  async function on<T>(given: ExecOptions, work: (client: Client) => Promise<T>): Promise<T> {
    const clients = given.isLazy ? lazy : strict;
    if (!given.isLong) return await timed(given, work(clients as unknown as Client));
    const connection = await clients.reserve().catch(told);
    try {
      await connection.unsafe(`set statement_timeout = ${longMs}`);
      return await timed(given, work(connection as unknown as Client));
    } finally {
      await connection.unsafe(`set statement_timeout = ${statementMs}`).catch(() => {});
      connection.release();
    }
  }

  /** The statements of a transaction. */
  const inside = (client: Client): Queryable => {
    const prepare = async ({ isLong }: ExecOptions) => {
      if (isLong) await client.unsafe(`set local statement_timeout = ${longMs}`);
    };
    return {
      query: <Row>(sql: string, parameters?: readonly unknown[], given: QueryOptions = {}) =>
        timed(given, prepare(given).then(() => rowsOf<Row>(client, sql, parameters, given))),
      exec: (sql, given = {}) => timed(given, prepare(given).then(() => run(client, sql))),
    };
  };

  const database: ServerDatabase = {
    query: (sql, parameters, given = {}) => on(given, (client) => rowsOf(client, sql, parameters, given)),
    exec: (sql, given = {}) => on(given, (client) => run(client, sql)),
    transaction: async <T>(work: (tx: Queryable) => Promise<T>, given?: ExecOptions) =>
      await (given?.isLazy ? lazy : strict).begin((client) => work(inside(client as unknown as Client)))
        .catch(told) as T,
    async listen(channel, onMessage, onStart) {
      await strict.listen(channel, onMessage, onStart);
    },
    async close() {
      await Promise.all([strict.end({ timeout: CLOSE_S }), lazy.end({ timeout: CLOSE_S })]);
    },
    abandon() {
      for (const clients of [strict, lazy]) void clients.end({ timeout: 0 });
    },
  };
  if (options.isOwn === false) return database;
  try {
    await enableVector(database);
    await migrate(database, await readMigrations());
    return database;
  } catch (cause) {
    await database.close();
    if (cause instanceof AgentCardsError && cause.code === "DB_TOO_NEW") throw cause;
    throw new AgentCardsError("DB_UNUSABLE", `Cannot open the database at ${placeOf(url)}: ${messageOf(cause)}`, {
      cause,
      hint: "Is the server running, and may this user connect to it and make tables?",
    });
  }
}

async function rowsOf<Row>(
  client: Client,
  sql: string,
  parameters: readonly unknown[] = [],
  { isOften = false }: QueryOptions = {},
): Promise<Row[]> {
  // The server says of what type each parameter is: nothing is guessed from its value.
  const values = parameters.map((value) => client.typed(value, 0));
  return [...await client.unsafe(sql, values, { prepare: isOften })] as Row[];
}

async function run(client: Client, sql: string): Promise<void> {
  await client.unsafe(sql);
}

/** Vectors are compared by the server where it has pgvector and this user may use it. */
async function enableVector(db: Database): Promise<void> {
  const [found] = await db.query<{ installed: boolean }>(
    "select installed_version is not null as installed from pg_available_extensions where name = 'vector'",
  );
  if (found?.installed === false) await db.exec("create extension if not exists vector").catch(() => {});
}

const SILENT = "it does not answer";
/** The codes of a connection that never carried the statement, and of one that was lost. */
const NOT_SENT = new Set(["CONNECTION_ENDED", "CONNECT_TIMEOUT", "ECONNREFUSED", "ENOTFOUND", "ENOENT", "EACCES"]);
/** A server that shuts down, was killed, or is starting; the last of them has carried nothing out. */
const STARTING = "57P03";
const SHUTDOWN = new Set(["57P01", "57P02", STARTING]);
const LOST = /^(?:CONNECTION_|E[A-Z]+$)/;

/** A failed statement keeps PostgreSQL's code; a failed connection has the one error of a missing database. */
function problemOf(error: unknown): unknown {
  const { code, severity_local: severity } = error as { code?: unknown; severity_local?: unknown };
  const isShutdown = typeof code === "string" && SHUTDOWN.has(code);
  if (severity !== undefined && !isShutdown) return Object.assign(new Error(messageOf(error)), { sqlState: code });
  if (error instanceof AgentCardsError) return error;
  if (code === "CONNECTION_ENDED") return noDatabase();
  const isNotSent = typeof code === "string" && NOT_SENT.has(code) || code === STARTING;
  const isLost = isShutdown || typeof code === "string" && LOST.test(code) || messageOf(error) === SILENT;
  if (!isNotSent && !isLost) return error;
  const problem = new AgentCardsError("DB_UNUSABLE", `The database cannot be reached: ${messageOf(error)}`, {
    cause: error,
    hint: "It is tried again by itself.",
    data: { isAway: true },
  });
  return isNotSent ? noDatabase(problem) : problem;
}

function isAway(problem: unknown): problem is AgentCardsError {
  return problem instanceof AgentCardsError && problem.data?.isAway === true;
}

/** A URL without its user and password. */
export function placeOf(url: string): string {
  try {
    const { hostname, port, pathname } = new URL(url);
    return `${hostname}${port && `:${port}`}${pathname}`;
  } catch {
    return "(not a URL)";
  }
}
