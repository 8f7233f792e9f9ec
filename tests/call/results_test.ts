import assert from "node:assert/strict";
import { type Database, lazyDatabase, noDatabase } from "../../src/db/database.ts";
import { createResultStore, newHandle, readable, slice } from "../../src/call/results.ts";
import { withEmptyDatabase } from "../fixtures/shared_database.ts";

const VALUE = JSON.parse(`{
  "items": [{"name": "a", "tags": ["x", "y"]}, {"name": "b"}],
  "odd key": {"a.b": 1, "quote\\"d": 2, "": 3},
  "text": "hello world",
  "__proto__": "own"
}`);

Deno.test("slice() follows keys, indices and quoted keys", () => {
  for (
    const [path, expected] of [
      ["", VALUE],
      ["items[0].name", "a"],
      ["items.1.name", "b"],
      ["items[0].tags[1]", "y"],
      ['["odd key"]["a.b"]', 1],
      ['["odd key"]["quote\\"d"]', 2],
      ['["odd key"][""]', 3],
      [".text", "hello world"],
      ["__proto__", "own"],
      ["items[00]", VALUE.items[0]],
    ] as const
  ) assert.deepEqual(slice(VALUE, { path }), expected, path);
  assert.equal(slice([["a"]], { path: "[0][0]" }), "a");
});

Deno.test("a path that leads nowhere says what there is instead", () => {
  for (
    const path of [
      "nothing",
      "items[2]",
      "items[-1]",
      "items.-1",
      "items.length",
      "items.1e0",
      "items.0x1",
      "items. 1",
      "text.length",
      "text[0]",
      "constructor",
      "items.constructor",
      "items[0].toString",
      '["\\x"]',
      '["line\nend"]',
    ]
  ) {
    assert.throws(() => slice(VALUE, { path }), {
      code: "INPUT_INVALID",
      message: /there is no ".*" here; what is here /s,
    });
  }
  assert.throws(() => slice(VALUE, { path: "item" }), { message: /what is here has items, odd key, text/ });
  assert.throws(() => slice(VALUE, { path: "items[9]" }), { message: /what is here is a list of 2$/ });
  assert.throws(() => slice([], { path: "[0]" }), { message: /is a list of 0$/ });
  assert.throws(() => slice(null, { path: "a" }), { message: /is null$/ });
});

Deno.test("slice() cuts texts and lists, from an offset, with a limit", () => {
  assert.equal(slice("abcdef", { offset: 2, limit: 3 }), "cde");
  assert.equal(slice("abc", { offset: 9 }), "");
  assert.equal((slice("x".repeat(30_000), {}) as string).length, 30_000, "without a limit there is none");
  assert.deepEqual(slice([1, 2, 3], { offset: 1, limit: 1 }), [2]);
  assert.equal((slice(Array(500).fill(0), {}) as unknown[]).length, 500);
  assert.deepEqual(slice(VALUE, { path: "items", offset: 1 }), [{ name: "b" }]);
  assert.equal(slice(7, { offset: 3 }), 7);
});

Deno.test("readable() gives what fits and says what does not, with how to read on", () => {
  const list = Array.from({ length: 3_000 }, (_, i) => ({ id: i }));
  const first = readable(list, {}, 1_000);
  const items = JSON.parse(first.text) as unknown[];
  assert.ok(items.length > 50 && first.text.length <= 1_000);
  assert.equal(first.note, `(items 0 to ${items.length - 1} of 3000; "offset": ${items.length} reads on)`);
  const seen: unknown[] = [];
  for (let offset = 0; offset < 3_000;) {
    const part = JSON.parse(readable(list, { offset }, 1_000).text) as unknown[];
    seen.push(...part);
    offset += part.length;
  }
  assert.deepEqual(seen, list, "all of it can be read");
  assert.deepEqual(readable(list, { offset: 2_990 }, 1_000).note, "(items 2990 to 2999 of 3000)");
  assert.equal(readable(list, { offset: 5_000 }, 1_000).note, "(nothing from offset 5000 on: there are 3000 items)");
  assert.equal(readable(list, { limit: 2 }, 1_000).text, '[{"id":0},{"id":1}]');
  assert.deepEqual(readable([1, 2], {}, 1_000), { text: "[1,2]" });
  assert.deepEqual(readable([], {}, 1_000), { text: "[]" });
  assert.match(readable("x".repeat(50), {}, 20).note!, /characters 0 to 19 of 50; "offset": 20 reads on/);
  assert.match(readable(["y".repeat(50)], {}, 20).note!, /20 of 52 characters of item 0 of 1; .*"path": "\[0\]"/);
  const object = readable({ b: 1, long: "y".repeat(50) }, {}, 20);
  assert.deepEqual(object, {
    text: "{b: number, long: string(50)}",
    note: '(the outline only: it is too long for one answer; read a part with "path": "long", "b")',
  });
  assert.match(
    readable({ a: { list: [1] } }, { path: "a", limit: 5 }, 999).note!,
    /this is an object; .*"path": "a\.list"/,
  );
  assert.deepEqual(readable({ a: 1 }, {}, 999), { text: '{"a":1}' });
});

async function withStore(
  limits: { results_bytes: number; results_age: number },
  work: (store: ReturnType<typeof createResultStore>, db: Database) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await withEmptyDatabase((db) => work(createResultStore({ directory, database: db, limits, isSynced: false }), db));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("a stored result is read by its handle, and nothing else is", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const store = createResultStore({
      directory,
      database: lazyDatabase(() => Promise.reject(noDatabase())),
      limits: { results_bytes: 1, results_age: 1 },
      isSynced: false,
    });
    const handle = newHandle();
    assert.match(handle, /^r_[0-9a-f]{16}$/);
    await Deno.writeTextFile(`${directory}/${handle}`, '{"a":1}');
    await Deno.writeTextFile(`${directory}/secret`, '"secret"');
    store.register({ handle, tool: "s:t", bytes: 7 });
    assert.deepEqual(await store.read(handle), { a: 1 });
    for (const wrong of [newHandle(), "", "secret", "../x", `${handle}/..`, `${handle}\n`, handle.toUpperCase()]) {
      await assert.rejects(store.read(wrong), { code: "RESULT_GONE" }, wrong);
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("the oldest results go when space is short, and the old ones in any case", async () => {
  await withStore({ results_bytes: 250, results_age: 60_000 }, async (store, db) => {
    const handles = [newHandle(), newHandle(), newHandle(), newHandle()];
    for (const [i, handle] of handles.entries()) {
      await Deno.writeTextFile(`${store.directory}/${handle}`, String(i));
      store.register({ handle, tool: "s:t", bytes: 100 });
      await settled(db);
      if (i === 2) await db.query("update result_handle set expires_at = now() where handle = $1", [handle]);
    }
    const left = await db.query<{ handle: string }>("select handle from result_handle order by created_at");
    assert.deepEqual(left.map(({ handle }) => handle), [handles[3]]);
    assert.equal(await store.read(handles[3]!), 3);
    for (const handle of handles.slice(0, 3)) await assert.rejects(store.read(handle), { code: "RESULT_GONE" });
  });
});

/** Registering goes on behind the scenes: insert, sweep, remove the files. */
async function settled(db: Database): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await db.query("select 1");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

Deno.test("what a run that failed has put aside outlives the quota, and goes with its age", async () => {
  await withStore({ results_bytes: 50, results_age: 60_000 }, async (store, db) => {
    const handles: Record<string, string> = {};
    for (const status of ["failed", "partial", "aborted", "paused", "completed"]) {
      await db.query(
        `insert into workflow_run (id, name, status, cwd, fingerprint, servers, variables, summary, epoch, lease_until)
         values ($1, '', $1, '/', '', '[]', '[]', '{}', 1, now())`,
        [status],
      );
      handles[status] = newHandle();
      await store.write({ handle: handles[status]!, tool: "s:t", json: JSON.stringify("x".repeat(100)), run: status });
    }
    await store.write({ handle: newHandle(), tool: "s:t", json: JSON.stringify("x".repeat(40)), run: "none" });
    const left = async () => {
      const rows = await db.query<{ run: string }>("select run from result_handle");
      return rows.map(({ run }) => run).filter((run) => run !== "none").sort();
    };
    assert.deepEqual(await left(), ["aborted", "failed", "partial", "paused"]);
    await db.query("update result_handle set expires_at = now() - interval '1 s' where run = 'failed'");
    await store.write({ handle: newHandle(), tool: "s:t", json: '"y"', run: "none" });
    assert.deepEqual(await left(), ["aborted", "partial", "paused"]);
  });
});

Deno.test("files that no row knows go once they are old, a draft of a killed writer among them", async () => {
  await withStore({ results_bytes: 1_000, results_age: 60_000 }, async (store) => {
    const [old, young, kept] = [newHandle(), newHandle(), newHandle()];
    const left = [old, `${old}.${crypto.randomUUID()}.tmp`];
    for (const name of [...left, young]) await Deno.writeTextFile(`${store.directory}/${name}`, "1");
    for (const name of left) await Deno.utime(`${store.directory}/${name}`, 1, 1);
    await store.write({ handle: kept, tool: "s:t", json: '"kept"', run: "none" });
    const names = (await Array.fromAsync(Deno.readDir(store.directory))).map(({ name }) => name);
    assert.deepEqual(names.filter((name) => name.startsWith("r_")).sort(), [young, kept].sort());
    assert.equal(await store.read(kept), "kept");
  });
});
