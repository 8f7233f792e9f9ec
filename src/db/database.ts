import { AgentCardsError } from "../model/start.ts";

/** Runs statements; parameters are `$1`, `$2`, …; values for jsonb go in as objects, never as JSON text. */
export interface Queryable {
  query<Row = Record<string, unknown>>(
    sql: string,
    parameters?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<Row[]>;
  exec(sql: string, options?: ExecOptions): Promise<void>;
}

export interface QueryOptions extends ExecOptions {
  /** The same text will come often: it is planned once. Parameters are text, numbers, truth values or null only. */
  readonly isOften?: boolean;
}

export interface ExecOptions {
  /** Nobody waits for the rows: they are written without waiting for the disk. */
  readonly isLazy?: boolean;
  /** The statement is known to take long, such as the making of an index. */
  readonly isLong?: boolean;
}

/** The port that every store works through. A driver may have one connection or many behind it. */
export interface Database extends Queryable {
  /** Runs `work` in one transaction; commits when it resolves, rolls back when it rejects. */
  transaction<T>(work: (tx: Queryable) => Promise<T>, options?: Pick<ExecOptions, "isLazy">): Promise<T>;
  close(): Promise<void>;
}

/** A database that can be let go at once. */
export interface EndableDatabase extends Database {
  /** Ends without a word to the database: another process may have it by now, or it does not answer. */
  abandon(): void;
}

/** True for an error of a driver that says: a row with this key exists already. */
export function isDuplicate(error: unknown): boolean {
  return (error as { sqlState?: unknown } | null)?.sqlState === "23505";
}

/** The error of every statement while there is no database: nothing of it was carried out. */
export function noDatabase(problem?: AgentCardsError): AgentCardsError {
  return new AgentCardsError("DB_UNUSABLE", problem?.message ?? "The database is closed", {
    cause: problem,
    hint: problem?.hint ?? "`agentcards status` says what is wrong with it.",
    data: { ...problem?.data, isUnwritten: true },
  });
}

/** True for the error of a statement that found no database. */
export function isNoDatabase(error: unknown): boolean {
  return error instanceof AgentCardsError && error.code === "DB_UNUSABLE" && error.data?.isUnwritten === true;
}

/** A database that is loaded by the first statement. */
export function lazyDatabase(load: () => Promise<Database>): Database {
  return {
    query: async (sql, parameters, options) => await (await load()).query(sql, parameters, options),
    exec: async (sql, options) => await (await load()).exec(sql, options),
    transaction: async (work, options) => await (await load()).transaction(work, options),
    close: async () => await (await load()).close(),
  };
}
