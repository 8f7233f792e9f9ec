// One process's database for others: what several runners over one journal need.
import type { Database, QueryOptions } from "../../src/db/database.ts";
import type { Handlers, Rpc } from "./line_rpc.ts";

interface Statement {
  readonly sql: string;
  readonly parameters?: readonly unknown[];
  readonly options?: QueryOptions;
}

/** What the owner of a database answers. */
export function databaseHandlers(db: Database): Handlers {
  return {
    query: ({ sql, parameters, options }: Statement) => db.query(sql, parameters, options),
    exec: ({ sql }: Statement) => db.exec(sql),
  };
}

/** The database at the other end; only what a journal needs of it. */
export function remoteDatabase(rpc: Rpc): Database {
  const missing = () => Promise.reject(new Error("only its owner can do this"));
  return {
    query: (sql, parameters = [], options = {}) => rpc.ask("query", { sql, parameters, options }),
    exec: (sql) => rpc.ask("exec", { sql }),
    transaction: missing,
    close: () => Promise.resolve(),
  };
}
