import type { AgentCardsError } from "../model/mod.ts";
import type { Database } from "./database.ts";
import type { DatabaseState, SupervisedDatabase } from "./supervisor.ts";

/** The database of an engine with all that keeps it, wherever it is. */
export interface HomeDatabase extends Pick<SupervisedDatabase, "ready" | "state" | "close" | "abandon"> {
  readonly database: Database;
  /** Takes the database as it is, though the marker knows another one; a missing one is made anew. */
  accept(): Promise<DatabaseState>;
  /** Uses the database no more. */
  giveUp(problem: AgentCardsError): void;
  /** Writes a row that nobody reads: rejects when the database cannot be written. */
  probe(): Promise<void>;
  /** The size of the database. */
  bytes(): Promise<number>;
  /** Writes a backup into a file. */
  backup(file: string): Promise<void>;
}

/** Writes a row that nobody reads. */
export const PROBE = "insert into config_metadata values ('probed', '0') on conflict (key) do update set value = '0'";

export async function sizeOf(db: Database): Promise<number> {
  const [row] = await db.query<{ bytes: string }>("select pg_database_size(current_database())::text as bytes");
  return Number(row!.bytes);
}
