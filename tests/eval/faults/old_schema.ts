// A database as the version before this one left it: the last migration is missing, the rows are there.
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { ROOT } from "../../fixtures/gateway.ts";
import { must } from "./disk.ts";

interface Column {
  readonly table_name: string;
  readonly column_name: string;
  readonly data_type: string;
}

/**
 * Replaces the database in a folder by one of the schema before, with every column that both know. In a process of its
 * own: PGlite leaves files open, and a file system with open files cannot be unmounted.
 */
export async function makeOlder(dataDir: string): Promise<void> {
  await must(Deno.execPath(), "run", "-A", "--quiet", "--cached-only", import.meta.filename!, dataDir);
}

async function replace(dataDir: string): Promise<void> {
  const newer = await PGlite.create({ dataDir, extensions: { vector } });
  const older = await PGlite.create({ dataDir: `${dataDir}.older`, extensions: { vector } });
  await older.exec("create extension if not exists vector");
  await older.exec("create table if not exists config_metadata (key text primary key, value jsonb not null)");
  const migrations = await readMigrations();
  for (const sql of migrations.slice(0, -1)) await older.exec(sql);
  // Without the checks of foreign keys: the tables come in no order.
  await older.exec("set session_replication_role = replica");
  const shared = intersect(await columnsOf(newer), await columnsOf(older));
  for (const [table, columns] of shared) {
    const { rows } = await newer.query<{ rows: string | null }>(`select json_agg(t)::text as rows from "${table}" t`);
    if (rows[0]?.rows === null || rows[0] === undefined) continue;
    const names = columns.map((name) => `"${name}"`).join(", ");
    await older.query(
      `insert into "${table}" (${names}) overriding system value
       select ${names} from json_populate_recordset(null::"${table}", $1) on conflict do nothing`,
      [rows[0].rows],
    );
  }
  await older.query(
    "insert into config_metadata values ('schema_version', $1) on conflict (key) do update set value = $1",
    [migrations.length - 1],
  );
  await newer.close();
  await older.close();
  await Deno.remove(dataDir, { recursive: true });
  await Deno.rename(`${dataDir}.older`, dataDir);
}

async function readMigrations(): Promise<string[]> {
  const folder = `${ROOT}src/db/migrations`;
  const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).filter((name) =>
    name.endsWith(".sql")
  );
  return await Promise.all(names.sort().map((name) => Deno.readTextFile(`${folder}/${name}`)));
}

async function columnsOf(db: PGlite): Promise<Column[]> {
  const { rows } = await db.query<Column>(
    `select c.table_name, c.column_name, c.data_type from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER'`,
  );
  return rows;
}

/** The columns that both know; tables where a column changed its type are caches and are left out. */
function intersect(one: readonly Column[], two: readonly Column[]): Map<string, string[]> {
  const known = new Map(two.map((column) => [nameOf(column), column.data_type]));
  const both = one.filter((column) => known.has(nameOf(column)));
  const groups = [...Map.groupBy(both, ({ table_name }) => table_name)];
  const same = groups.filter(([, columns]) =>
    columns.every((column) => known.get(nameOf(column)) === column.data_type)
  );
  return new Map(same.map(([table, columns]) => [table, columns.map(({ column_name }) => column_name)]));
}

const nameOf = ({ table_name, column_name }: Column) => `${table_name}.${column_name}`;

if (import.meta.main) await replace(Deno.args[0]!);
