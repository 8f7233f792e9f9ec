/** Runs statements; parameters are `$1`, `$2`, …; values for jsonb go in as objects, never as JSON text. */
export interface Queryable {
  query<Row = Record<string, unknown>>(
    sql: string,
    parameters?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<Row[]>;
  exec(sql: string): Promise<void>;
}

export interface QueryOptions {
  /** The same text will come often: it is planned once. Parameters are text, numbers, truth values or null only. */
  readonly isOften?: boolean;
}

/** The small port that the rest of the house sees; PGlite stands behind it. */
export interface Database extends Queryable {
  /** Runs `work` alone on the connection; commits when it resolves, rolls back when it rejects. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /** The whole database as one gzipped tar. */
  dump(): Promise<Uint8Array>;
  close(): Promise<void>;
}
