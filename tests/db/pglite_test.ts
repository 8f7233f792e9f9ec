import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/pglite/open.ts";
import { openEmptyDatabase } from "../fixtures/database.ts";

const WRITER = fileURLToPath(new URL("./writer.ts", import.meta.url));

async function withFolder(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await work(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** Every file below a folder with its bytes: what "untouched" means. */
async function contents(dir: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { name, isDirectory, isSymlink } of Deno.readDir(dir)) {
    const path = `${dir}/${name}`;
    if (isSymlink) found[path] = `link to ${await Deno.readLink(path)}`;
    else if (isDirectory) Object.assign(found, await contents(path), { [path]: "folder" });
    else found[path] = (await Deno.readFile(path)).toHex();
  }
  return found;
}

const noise = (size: number) => crypto.getRandomValues(new Uint8Array(size));

Deno.test("a database that is open", async (test) => {
  await withFolder(async (dir) => {
    const db = await openEmptyDatabase(`${dir}/data`);
    try {
      await db.exec("create table item (id integer generated always as identity, data jsonb, text text)");
      await test.step("gives objects back as objects, not as text", () => jsonRoundTrip(db));
      await test.step("is not poisoned by statements that fail", () => failures(db));
      await test.step("takes what comes often to the letter, too", () => often(db));
      await test.step("keeps transactions apart", () => isolation(db));
      await test.step("forgets a transaction that fails, whole", () => rollback(db));
      await test.step("does not take a transaction with a swallowed failure for a commit", () => swallowed(db));
    } finally {
      await db.close();
    }
    await test.step("says that it is closed, as often as it is asked", async () => {
      await db.close();
      await assert.rejects(db.query("select 1"), /the database is closed/i);
      await assert.rejects(db.transaction((tx) => tx.query("select 1")), /the database is closed/i);
    });
  });
});

async function jsonRoundTrip(db: Database): Promise<void> {
  for (
    const value of [{ a: [1, { b: "'; drop table item; --" }] }, [1, "two", null], {}, [], {
      'quoted " \\ é 😀': "{}",
    }]
  ) {
    const [row] = await db.query<{ data: unknown; kind: string }>(
      "insert into item (data, text) values ($1, $2) returning data, jsonb_typeof(data) as kind",
      [value, "x"],
    );
    assert.deepEqual(row!.data, value);
    assert.equal(row!.kind, Array.isArray(value) ? "array" : "object");
  }
}

async function failures(db: Database): Promise<void> {
  const count = async () => (await db.query<{ n: number }>("select count(*)::int as n from item"))[0]!.n;
  const before = await count();
  await assert.rejects(db.query("select nothing from nowhere"));
  await assert.rejects(db.query("select $1::int", ["not a number"]));
  await assert.rejects(db.query("select $1", []));
  await assert.rejects(db.exec("insert into item (text) values ('half'); select 1/0"), /division by zero/);
  await assert.rejects(db.exec("begin; insert into item (text) values ('half'); select 1/0"), /division by zero/);
  await assert.rejects(db.query("select $1::jsonb", [() => "no data"]), /could not be cloned/);
  const [first, second] = await Promise.allSettled([db.query("select 1/0"), db.query("select 1 as one")]);
  assert.equal(first.status, "rejected");
  assert.deepEqual(second, { status: "fulfilled", value: [{ one: 1 }] });
  assert.equal(await count(), before, "no half of a failed batch is there");
}

async function isolation(db: Database): Promise<void> {
  await db.exec("create table balance (n integer); insert into balance values (0)");
  const pause = () => new Promise((resolve) => setTimeout(resolve, 1));
  const order: string[] = [];
  const addOne = (name: string) =>
    db.transaction(async (tx) => {
      order.push(`${name} begins`);
      const [row] = await tx.query<{ n: number }>("select n from balance");
      await pause();
      await tx.query("update balance set n = $1", [row!.n + 1]);
      order.push(`${name} ends`);
    });
  const others = Array.from({ length: 10 }, (_, i) => addOne(String(i)));
  const seen = db.query<{ n: number }>("select n from balance");
  await Promise.all(others);
  assert.deepEqual(await db.query("select n from balance"), [{ n: 10 }], "no update was lost");
  assert.deepEqual(await seen, [{ n: 10 }], "a plain statement waits for its turn");
  assert.deepEqual(order, Array.from({ length: 10 }, (_, i) => [`${i} begins`, `${i} ends`]).flat());
}

async function rollback(db: Database): Promise<void> {
  await assert.rejects(
    db.transaction(async (tx) => {
      await tx.query("update balance set n = -1");
      await tx.exec("create table half (n integer)");
      throw new Error("changed my mind");
    }),
    /changed my mind/,
  );
  await assert.rejects(
    db.transaction(async (tx) => {
      await tx.query("update balance set n = -2");
      await tx.query("select 1/0").catch(() => {});
      await tx.query("select 1");
    }),
    /current transaction is aborted/,
  );
  assert.deepEqual(await db.query("select n, to_regclass('half') as half from balance"), [{ n: 10, half: null }]);
  assert.equal(await db.transaction((tx) => tx.query("select 7 as n").then(([row]) => row!.n)), 7);
}

async function swallowed(db: Database): Promise<void> {
  const attempt = db.transaction(async (tx) => {
    await tx.query("update balance set n = -3");
    await tx.query("select 1/0").catch(() => {});
  });
  // PostgreSQL answers such a commit with a rollback, and without an error.
  await assert.rejects(attempt, /current transaction is aborted/);
  await db.transaction(async (tx) => {
    await tx.query("update balance set n = 11");
    await tx.exec("savepoint before");
    await tx.query("select 1/0").catch(() => {});
    await tx.exec("rollback to before");
  });
  assert.deepEqual(await db.query("select n from balance"), [{ n: 11 }], "a savepoint forgives");
}

Deno.test("every row that was acknowledged is there after kill -9", async () => {
  await withFolder(async (dir) => {
    let acknowledged = 0;
    for (let round = 0; round < 5; round++) {
      const child = new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--quiet", "--cached-only", WRITER, dir, "write"],
        stdin: "null",
        stdout: "piped",
      }).spawn();
      const lines: string[] = [];
      const until = 2 + 5 + round * 7;
      let rest = "";
      for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
        const parts = (rest + text).split("\n");
        rest = parts.pop()!;
        lines.push(...parts);
        if (lines.length >= until) {
          try {
            child.kill("SIGKILL");
          } catch {
            // Gone; what it said before is still being read.
          }
        }
      }
      await child.status;
      assert.equal(lines[0], "locked", `round ${round}`);
      const found: number[] = JSON.parse(lines[1]!);
      assert.ok(found.length >= acknowledged, `round ${round}: ${acknowledged} were said, ${found.length} are there`);
      assert.ok(found.length <= acknowledged + 1, "at most the one that was under way comes on top");
      assert.deepEqual(found, Array.from({ length: found.length }, (_, i) => i + 1));
      acknowledged = Number(lines.at(-1));
    }
    const db = await openDatabase(`${dir}/data`);
    const [row] = await db.query<{ n: number }>("select count(*)::int as n from written where length(filler) = 2000");
    await db.close();
    assert.ok(row!.n >= acknowledged);
  });
});

Deno.test("what is no database is refused and left as it is", async (test) => {
  await withFolder(async (dir) => {
    const refused = async (
      name: string,
      make: (path: string) => Promise<void>,
      message = /^Cannot open the database/,
    ) => {
      await test.step(name, async () => {
        const path = `${dir}/${name.replaceAll(" ", "-")}`;
        await make(path);
        const before = await contents(dir);
        await assert.rejects(openDatabase(path), { code: "DB_UNUSABLE", message });
        const after = await contents(dir);
        for (const [file, bytes] of Object.entries(before)) assert.equal(after[file], bytes, `${file} changed`);
      });
    };
    await refused("a folder with foreign files", async (path) => {
      await Deno.mkdir(path);
      await Deno.writeTextFile(`${path}/thesis.txt`, "the only copy");
    }, /it holds files that are not a database/);
    await refused("a file of random bytes", (path) => Deno.writeFile(path, noise(5_000)));
    await refused("an empty file", (path) => Deno.writeFile(path, new Uint8Array()));
    await refused("random bytes under the right names", async (path) => {
      await Deno.mkdir(`${path}/global`, { recursive: true });
      await Deno.writeTextFile(`${path}/PG_VERSION`, "18\n");
      for (const name of ["global/pg_control", "postgresql.conf"]) {
        await Deno.writeFile(`${path}/${name}`, noise(8_192));
      }
    });
    await refused("another version", async (path) => {
      await Deno.mkdir(path);
      await Deno.writeTextFile(`${path}/PG_VERSION`, "9999\n");
    });
    await refused("a link that leads nowhere", (path) => Deno.symlink(`${dir}/unmounted`, path));
  });
});

Deno.test("a link to an empty folder stays a link, and the database lies behind it", async () => {
  await withFolder(async (dir) => {
    await Deno.mkdir(`${dir}/disk`);
    await Deno.symlink(`${dir}/disk`, `${dir}/data`);
    await (await openDatabase(`${dir}/data`)).close();
    assert.ok((await Deno.lstat(`${dir}/data`)).isSymlink);
    assert.ok(await Deno.stat(`${dir}/disk/PG_VERSION`));
  });
});

async function often(db: Database): Promise<void> {
  const echo = "select $1::text as a, $2::float8 as b, $3::boolean as c, $4::text as d";
  const texts = [
    "plain",
    "it's ''quoted''",
    "back\\slash \\' '",
    "$1 $$ ;--",
    "', 0, true, null); drop table item; --",
    "ü😀\n",
  ];
  for (const text of texts) {
    const [row] = await db.query(echo, [text, -1.5, true, null], { isOften: true });
    assert.deepEqual(row, { a: text, b: -1.5, c: true, d: null });
  }
  await assert.rejects(db.query(echo, [{}, 1, true, null], { isOften: true }), TypeError);
  await assert.rejects(db.query("select $1::integer as n", ["x"], { isOften: true }), /integer/);
  assert.deepEqual(await db.query("select $1::integer as n", [7], { isOften: true }), [{ n: 7 }]);
}
