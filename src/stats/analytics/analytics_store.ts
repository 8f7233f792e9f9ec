import type { Database } from "../../db/mod.ts";
import { type AnalyticsRow, type TableName, TABLES } from "./rows.ts";

/** The columns of each table beside `engine`, `seq` and `at`. */
const COLUMNS: Readonly<Record<TableName, Readonly<Record<string, string>>>> = {
  metrics_calls: {
    tool: "text",
    server: "text",
    client: "text",
    run: "text",
    task: "text",
    made_by: "text",
    outcome: "text",
    code: "text",
    ms: "double precision",
  },
  metrics_tokens: {
    tool: "text",
    client: "text",
    run: "text",
    tokens_in: "bigint",
    tokens_out: "bigint",
    tokens_kept: "bigint",
  },
  metrics_costs: { tool: "text", client: "text", run: "text", usd: "double precision" },
  metrics_runs: {
    run: "text",
    status: "text",
    client: "text",
    ms: "double precision",
    tasks: "integer",
    failed: "integer",
  },
  metrics_agents: {
    agent: "text",
    run: "text",
    status: "text",
    ms: "double precision",
    tasks: "integer",
    failed: "integer",
  },
};

/** Tables of a PostgreSQL that several engines may write. A row that is there already stays as it is. */
export function createAnalyticsStore(db: Database) {
  return {
    async prepare(): Promise<void> {
      const statements = TABLES.map((table) => {
        const columns = Object.entries(COLUMNS[table]).map(([name, type]) => `${name} ${type}`).join(", ");
        return `create table if not exists ${table} (engine text not null, seq bigint not null, at timestamptz not null,
          ${columns}, primary key (engine, seq))`;
      });
      await db.exec(statements.join(";"));
    },
    /** Adds rows in one transaction. */
    async add(engine: string, rows: readonly AnalyticsRow[]): Promise<void> {
      const byTable = Map.groupBy(rows, ({ table }) => table);
      await db.transaction(async (tx) => {
        for (const [table, some] of byTable) {
          const columns = Object.entries(COLUMNS[table]);
          const names = columns.map(([name]) => name).join(", ");
          const types = columns.map(([name, type]) => `${name} ${type}`).join(", ");
          await tx.query(
            `insert into ${table} (engine, seq, at, ${names})
             select $1, seq, to_timestamp(at / 1000), ${names}
             from jsonb_to_recordset($2::jsonb) as x(seq bigint, at float8, ${types})
             on conflict (engine, seq) do nothing`,
            [engine, some.map(({ seq, at, values }) => ({ seq, at, ...values }))],
          );
        }
      });
    },
  };
}
