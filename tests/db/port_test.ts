import assert from "node:assert/strict";
import { type Database, isDuplicate, isNoDatabase } from "../../src/db/database.ts";
import { ownDatabase } from "../fixtures/shared_database.ts";

Deno.test("a driver of the database port", async (test) => {
  const { db, close } = await ownDatabase();
  await db.exec("create table item (id integer generated always as identity, data jsonb, text text unique)");
  await test.step("passes values to the letter and gives them back", () => values(db));
  await test.step("plans what comes often once, with any text in it", () => often(db));
  await test.step("gives PostgreSQL's code with an error, and is not poisoned by it", () => failures(db));
  await test.step("rolls back a transaction that fails or that swallowed a failure", () => rollback(db));
  await test.step("keeps transactions apart", () => isolation(db));
  await test.step("gives a statement that is known to take long its time", () => long(db));
  await close();
  await test.step("says that it is closed", async () => {
    await assert.rejects(db.query("select 1"), /is closed/i);
    await assert.rejects(db.transaction((tx) => tx.query("select 1")), /is closed/i);
  });
});

async function values(db: Database): Promise<void> {
  for (const value of [{ a: [1, { b: "'; drop table item; --" }] }, [1, "two", null], {}, [], { 'q" \\ é 😀': "{}" }]) {
    const [row] = await db.query<{ data: unknown; text: string }>(
      "insert into item (data, text) values ($1, $2) returning data, text",
      [value, JSON.stringify(value)],
    );
    assert.deepEqual(row, { data: value, text: JSON.stringify(value) });
  }
  const [row] = await db.query(
    `select 9007199254740991::bigint as big, 7::integer as small, 0.5::real as part, true as yes, null as nothing,
       $1::text[] as texts, $2::integer[] as numbers, $3::json as json, array[0.5, 1]::real[] as parts,
       array[1, 2]::integer[] as ids, count(*)::int as n from item`,
    [["a,b", 'c"d', "\\", ""], [1, 2], '{"is":"text"}'],
  );
  const { numbers, parts, ids, ...rest } = row as Record<string, unknown>;
  assert.deepEqual(rest, {
    big: 9007199254740991,
    small: 7,
    part: 0.5,
    yes: true,
    nothing: null,
    texts: ["a,b", 'c"d', "\\", ""],
    json: { is: "text" },
    n: 5,
  });
  for (const [given, wanted] of [[numbers, [1, 2]], [parts, [0.5, 1]], [ids, [1, 2]]] as const) {
    assert.deepEqual(Array.from(given as ArrayLike<number>), wanted);
  }
}

async function often(db: Database): Promise<void> {
  for (const text of ["plain", "it's", "\\", "$1 $2", "a\nb"]) {
    const rows = await db.query("select $1::text as text, $2::integer as n, $3::text as none", [text, 3, null], {
      isOften: true,
    });
    assert.deepEqual(rows, [{ text, n: 3, none: null }]);
  }
}

async function failures(db: Database): Promise<void> {
  await db.query("insert into item (text) values ('one')");
  const error = await db.query("insert into item (text) values ('one')").then(() => undefined, (error) => error);
  assert.ok(isDuplicate(error) && !isNoDatabase(error), String(error));
  await assert.rejects(db.query("select * from nowhere"), { sqlState: "42P01" });
  await assert.rejects(db.exec("select 1; nonsense"), { sqlState: "42601" });
  assert.deepEqual(await db.query("select 1 as one"), [{ one: 1 }]);
}

async function rollback(db: Database): Promise<void> {
  const count = async () => (await db.query<{ n: number }>("select count(*)::int as n from item"))[0]!.n;
  const before = await count();
  await assert.rejects(
    db.transaction(async (tx) => {
      await tx.query("insert into item (text) values ('gone')");
      throw new Error("no");
    }),
    /^Error: no$/,
  );
  await assert.rejects(db.transaction(async (tx) => {
    await tx.query("insert into item (text) values ('gone')");
    await tx.query("select * from nowhere").catch(() => {});
  }));
  assert.equal(await count(), before);
  assert.equal(await db.transaction((tx) => tx.query("insert into item (text) values ('kept')").then(() => 5)), 5);
  assert.equal(await count(), before + 1);
}

async function isolation(db: Database): Promise<void> {
  await db.exec("create table counter (n integer); insert into counter values (0)");
  await Promise.all(Array.from({ length: 5 }, () =>
    db.transaction(async (tx) => {
      const [row] = await tx.query<{ n: number }>("select n from counter for update");
      await tx.query("update counter set n = $1", [row!.n + 1]);
    }, { isLazy: true })));
  assert.deepEqual(await db.query("select n from counter"), [{ n: 5 }]);
}

async function long(db: Database): Promise<void> {
  assert.deepEqual(await db.query("select 2 as two", [], { isLong: true }), [{ two: 2 }]);
  await db.exec("create index on item (text)", { isLong: true, isLazy: true });
}
