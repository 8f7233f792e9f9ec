import type { Database } from "../../db/mod.ts";

/** A value behind a token, with the servers that told it. */
export interface PiiRow {
  readonly token: string;
  readonly value: string;
  readonly servers: readonly string[];
}

/** The table of the values behind tokens. */
export function createPiiStore(db: Database) {
  return {
    async put(rows: readonly PiiRow[]): Promise<void> {
      await db.query(
        `insert into pii_value (token, value, servers)
         select token, value, servers from jsonb_to_recordset($1::jsonb) as t(token text, value text, servers jsonb)
         on conflict (token) do update set seen_at = now()`,
        [rows.map((row) => ({ ...row, value: JSON.stringify(row.value) }))],
      );
    },
    async find(tokens: readonly string[]): Promise<PiiRow[]> {
      const rows = await db.query<PiiRow>(
        "select token, value, servers from pii_value where token = any($1::text[])",
        [tokens],
      );
      return rows.map((row) => ({ ...row, value: JSON.parse(row.value) }));
    },
    /** Keeps the newest values of a server. */
    async pruneServer(server: string, rows: number): Promise<void> {
      await db.query(
        `delete from pii_value where token in (
           select token from pii_value where servers = $1::jsonb order by seen_at desc, token offset $2)`,
        [[server], rows],
      );
    },
    async prune(days: number): Promise<void> {
      await db.query("delete from pii_value where seen_at < now() - $1 * interval '1 day'", [days]);
    },
  };
}
