import { AgentCardsError, messageOf } from "../model/mod.ts";
import { fs } from "../platform/start.ts";
import type { Database, Queryable } from "./database.ts";

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/** The numbered `.sql` files beside this module, in order, without gaps. */
export async function readMigrations(folder = new URL("./migrations/", import.meta.url)): Promise<Migration[]> {
  const found: Migration[] = [];
  for await (const entry of fs.readDir(folder)) {
    const match = /^(\d{3})_[a-z_]+\.sql$/.exec(entry.name);
    if (!match) throw new TypeError(`Cannot use migration ${entry.name}: the name must be NNN_words.sql`);
    found.push({
      version: Number(match[1]),
      name: entry.name,
      sql: await fs.readTextFile(new URL(entry.name, folder)),
    });
  }
  found.sort((a, b) => a.version - b.version);
  found.forEach((migration, i) => {
    if (migration.version !== i + 1) {
      throw new TypeError(`Cannot use migration ${migration.name}: number ${i + 1} is due`);
    }
  });
  return found;
}

/**
 * Brings the schema up to date, one transaction a step. A database of a newer AgentCards is left alone. `before` runs with
 * the version that is there, if it is not the newest.
 */
export async function migrate(
  db: Database,
  migrations: readonly Migration[],
  before?: (version: number) => Promise<void> | undefined,
): Promise<void> {
  const current = await versionOf(db);
  if (current > migrations.length) {
    throw new AgentCardsError(
      "DB_TOO_NEW",
      `Cannot open the database: it has schema version ${current}, this AgentCards knows ${migrations.length}`,
      {
        hint: "Use the newer AgentCards that wrote it, or set AGENTCARDS_HOME to another folder. Nothing was changed.",
      },
    );
  }
  if (current < migrations.length) await before?.(current);
  for (const migration of migrations.slice(current)) {
    try {
      await db.transaction(async (tx) => {
        await tx.exec(LOCK, { isLong: true });
        if (await knownVersion(tx) >= migration.version) return;
        await tx.exec(migration.sql, { isLong: true });
        await tx.query(
          "insert into config_metadata values ('schema_version', $1) on conflict (key) do update set value = $1",
          [migration.version],
        );
      });
    } catch (cause) {
      throw new AgentCardsError("DB_UNUSABLE", `Cannot apply migration ${migration.name}: ${messageOf(cause)}`, {
        cause,
      });
    }
  }
}

/** Engines that share a database migrate it one after the other. The number is ours; the lock ends with the transaction. */
const LOCK = "select pg_advisory_xact_lock(7133701809754865664)";

async function versionOf(db: Database): Promise<number> {
  const [row] = await db.query<{ known: boolean }>("select to_regclass('config_metadata') is not null as known");
  if (row!.known) return await knownVersion(db);
  await db.transaction(async (tx) => {
    await tx.exec(LOCK);
    await tx.exec("create table if not exists config_metadata (key text primary key, value jsonb not null)");
  });
  return await knownVersion(db);
}

async function knownVersion(db: Queryable): Promise<number> {
  const [row] = await db.query<{ value: number }>("select value from config_metadata where key = 'schema_version'");
  return row?.value ?? 0;
}
