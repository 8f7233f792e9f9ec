import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { migrate, readMigrations } from "../../src/db/migrate.ts";
import { openDatabase } from "../../src/db/pglite/open.ts";

Deno.test("the schema goes up step by step, each whole or not at all", async (test) => {
  const dir = await Deno.makeTempDir();
  try {
    const known = await readMigrations();
    const next = (sql: string, plus = 1) => ({ version: known.length + plus, name: `${plus}_test.sql`, sql });
    const db = await openDatabase(`${dir}/data`);
    const version = async () =>
      (await db.query<{ value: unknown }>("select value from config_metadata where key = 'schema_version'"))[0]?.value;
    const table = async (name: string) => (await db.query<{ t: unknown }>("select to_regclass($1) as t", [name]))[0]!.t;
    try {
      await test.step("opening brings a new database to the newest version", async () => {
        assert.equal(await version(), known.length);
        assert.ok(await table("server_catalogue"));
        await migrate(db, known);
        assert.equal(await version(), known.length, "a second time changes nothing");
      });
      await test.step("a migration that fails leaves no half of it, and the connection works", async () => {
        const half = next("create table half (n integer); insert into half values (1); select 1/0;");
        await assert.rejects(migrate(db, [...known, half]), {
          code: "DB_UNUSABLE",
          message: /1_test\.sql: division by zero/,
        });
        assert.equal(await table("half"), null);
        // This one works by itself, but then its number cannot be written down.
        const lost = next("create table half (n integer); alter table config_metadata rename to lost;");
        await assert.rejects(migrate(db, [...known, lost]), { code: "DB_UNUSABLE" });
        assert.equal(await table("half"), null);
        assert.equal(await version(), known.length);
        assert.deepEqual(await db.query("select 1 as one"), [{ one: 1 }]);
      });
      await test.step("the steps before the one that fails stay", async () => {
        const steps = [next("create table first_step (n integer)"), next("create table wrong (", 2)];
        await assert.rejects(migrate(db, [...known, ...steps]), { code: "DB_UNUSABLE" });
        assert.ok(await table("first_step"));
        assert.equal(await version(), known.length + 1);
      });
      await test.step("a database of a newer version is refused and untouched", async () => {
        await db.exec("create table config_metadata_before as select * from config_metadata");
        await assert.rejects(migrate(db, known), { code: "DB_TOO_NEW", message: new RegExp(`${known.length + 1}`) });
        assert.deepEqual(
          await db.query("select * from config_metadata"),
          await db.query("select * from config_metadata_before"),
        );
        assert.ok(await table("first_step"));
      });
    } finally {
      await db.close();
    }
    await test.step("opening a newer database says so, again and again", async () => {
      for (let i = 0; i < 2; i++) await assert.rejects(openDatabase(`${dir}/data`), { code: "DB_TOO_NEW" });
    });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("migrations are numbered without gaps", async () => {
  const dir = await Deno.makeTempDir();
  const folder = pathToFileURL(`${dir}/`);
  try {
    await Deno.writeTextFile(`${dir}/002_b.sql`, "select 2");
    await assert.rejects(readMigrations(folder), /002_b\.sql: number 1 is due/);
    await Deno.writeTextFile(`${dir}/001_a.sql`, "select 1");
    assert.deepEqual(await readMigrations(folder), [
      { version: 1, name: "001_a.sql", sql: "select 1" },
      { version: 2, name: "002_b.sql", sql: "select 2" },
    ]);
    await Deno.writeTextFile(`${dir}/002_c.sql`, "select 2");
    await assert.rejects(readMigrations(folder), TypeError);
    await Deno.remove(`${dir}/002_c.sql`);
    await Deno.writeTextFile(`${dir}/notes.txt`, "");
    await assert.rejects(readMigrations(folder), /NNN_words\.sql/);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
