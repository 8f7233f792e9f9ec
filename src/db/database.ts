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

/** The small port that the rest of the house sees; PGlite stands behind it. */
export interface Database extends Queryable {
  /** Runs `work` alone on the connection; commits when it resolves, rolls back when it rejects. */
  transaction<T>(work: (tx: Queryable) => Promise<T>, options?: Pick<ExecOptions, "isLazy">): Promise<T>;
  /** Runs `work` while no statement runs and everything is on the disk, so that the files can be copied. */
  atRest<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
  /** Ends without a checkpoint: another process may have the folder by now. */
  abandon(): void;
}
