import { AgentCardsError } from "../model/mod.ts";
import type { Database, Queryable } from "./database.ts";

/** A table that was moved: its rows, and a hash of all of them that does not depend on their order. */
export interface MovedTable {
  readonly name: string;
  readonly rows: number;
  readonly hash: string;
}

/** Rows of one database that mean nothing in another: engines register themselves, folders with them. */
const LEFT_OUT = ["config_metadata", "engine", "context"];
/** The facts that a database keeps about itself. */
const OWN_KEYS = "'schema_version', 'identity', 'replaces', 'probed', 'marked'";
const ROWS_AT_ONCE = 500;
/** The same text for the same value on both sides. */
const SAME_TEXT = "set local timezone = 'UTC'; set local extra_float_digits = 1; set local datestyle = 'ISO'";

interface Column {
  readonly name: string;
  readonly type: string;
  readonly is_identity: boolean;
}

interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
}

/**
 * Copies every row into an empty database with the same schema, and compares what arrived with what was sent before it
 * counts. Nothing is changed in `from`; in `to` everything is there or nothing.
 */
export async function moveDatabase(from: Database, to: Database): Promise<MovedTable[]> {
  return await from.transaction(async (source) => {
    await source.exec(`set transaction isolation level repeatable read; ${SAME_TEXT}`);
    const tables = await tablesOf(source);
    return await to.transaction(async (target) => {
      await target.exec(SAME_TEXT);
      await requireEmpty(target, tables);
      const moved: MovedTable[] = [];
      for (const table of tables) {
        const sent = await eachBatch(source, table, (batch) => insert(target, table, batch));
        const arrived = await eachBatch(target, table, () => Promise.resolve());
        if (sent.rows !== arrived.rows || sent.hash !== arrived.hash) throw different(sent, arrived);
        await setSequences(target, table);
        moved.push(sent);
      }
      const known = await source.query<{ key: string; value: string }>(
        `select key, value::text from config_metadata where key not in (${OWN_KEYS})`,
      );
      for (const { key, value } of known) {
        await target.query(
          "insert into config_metadata values ($1, $2::text::jsonb) on conflict (key) do update set value = excluded.value",
          [key, value],
        );
      }
      return moved;
    });
  });
}

/** The tables of the schema; those that others refer to come first. */
async function tablesOf(db: Queryable): Promise<Table[]> {
  const found = await db.query<{ name: string; columns: Column[] }>(
    `select c.relname as name, json_agg(json_build_object('name', a.attname, 'type', t.typname,
       'is_identity', a.attidentity <> '') order by a.attnum) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_type t on t.oid = a.atttypid
     where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped
     group by c.oid, c.relname
     order by (select count(*) from pg_constraint where conrelid = c.oid and contype = 'f'), c.relname`,
  );
  return found.filter(({ name }) => !LEFT_OUT.includes(name));
}

async function requireEmpty(target: Queryable, tables: readonly Table[]): Promise<void> {
  const there = new Set((await tablesOf(target)).map(({ name }) => name));
  for (const { name } of tables) {
    if (!there.has(name)) {
      throw new AgentCardsError("DB_UNUSABLE", `Cannot move: there is no table ${name} at the target`);
    }
    const [{ found }] = await target.query<{ found: boolean }>(`select exists (select 1 from ${name}) as found`) as [
      { found: boolean },
    ];
    if (!found) continue;
    throw new AgentCardsError(
      "DB_UNUSABLE",
      `Cannot move: the database there has rows already, in ${name} for example`,
      {
        hint: "Name an empty database. To share one that is in use, write it as `database` into config.yaml: " +
          "then this home's own rows stay where they are.",
      },
    );
  }
}

/** Reads a table in parts; gives back the number of its rows and their hash. */
async function eachBatch(
  db: Queryable,
  { name, columns }: Table,
  work: (batch: readonly string[]) => Promise<void>,
): Promise<MovedTable> {
  // Vectors are the same numbers, whether the extension is there or not.
  const given = columns.map(({ name, type }) => type === "vector" ? `${name}::real[] as ${name}` : name);
  const hash = new Uint8Array(32);
  let rows = 0;
  await db.exec(
    `declare moved no scroll cursor for select to_json(x)::text as row from (select ${given} from ${name}) as x`,
  );
  for (;;) {
    const batch = (await db.query<{ row: string }>(`fetch ${ROWS_AT_ONCE} from moved`, [], { isLong: true }))
      .map(({ row }) => row);
    if (batch.length === 0) break;
    rows += batch.length;
    for (const row of batch) await mix(hash, row);
    await work(batch);
  }
  await db.exec("close moved");
  return { name, rows, hash: hash.toHex() };
}

/** Adds a row to the hash of a table: the exclusive or of the hashes of its rows. */
async function mix(hash: Uint8Array, row: string): Promise<void> {
  const more = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(row)));
  for (let i = 0; i < hash.length; i++) hash[i]! ^= more[i]!;
}

async function insert(db: Queryable, { name, columns }: Table, batch: readonly string[]): Promise<void> {
  const names = columns.map(({ name }) => name).join(", ");
  await db.query(
    `insert into ${name} (${names}) overriding system value
     select ${names} from json_populate_recordset(null::${name}, $1::text::json)`,
    [`[${batch.join()}]`],
    { isLong: true },
  );
}

/** Numbers that the database gives go on after those that came along. */
async function setSequences(db: Queryable, { name, columns }: Table): Promise<void> {
  for (const column of columns.filter(({ is_identity }) => is_identity)) {
    await db.query(
      `select setval(pg_get_serial_sequence($1, $2), max(${column.name})) from ${name} having max(${column.name}) is not null`,
      [name, column.name],
    );
  }
}

function different(sent: MovedTable, arrived: MovedTable): AgentCardsError {
  return new AgentCardsError(
    "DB_UNUSABLE",
    `Cannot move ${sent.name}: ${sent.rows} rows were sent and ${arrived.rows} arrived, or not the same`,
    { hint: "Nothing was changed." },
  );
}
