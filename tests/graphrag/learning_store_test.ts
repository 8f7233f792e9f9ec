import assert from "node:assert/strict";
import { lazyDatabase, noDatabase } from "../../src/db/database.ts";
import { createLearningStore } from "../../src/graphrag/learning_store.ts";
import { withEmptyDatabase } from "../fixtures/shared_database.ts";

const edge = { source: "s:a", target: "s:b", path: "id", seen: 3, failed: 1 };

Deno.test("what is learned adds up from one start to the next, each scope by itself", () =>
  withEmptyDatabase(async (db) => {
    for (let start = 0; start < 2; start++) {
      const store = createLearningStore(db);
      for (let i = 0; i < 3; i++) store.habit("user", "after s:a", "s:b");
      store.dependency("user", { ...edge, seen: 3 + start });
      store.state("threshold", { speculate_at: 0.9 + start / 100 });
      await store.flush();
    }
    const store = createLearningStore(db);
    const { habits, dependencies } = await store.load("user");
    assert.deepEqual(habits.map(({ place, next, seen }) => [place, next, seen]), [["after s:a", "s:b", 6]]);
    assert.deepEqual(dependencies, [{ ...edge, seen: 4 }]);
    assert.deepEqual(await store.states(), { threshold: { speculate_at: 0.91 } });
    assert.deepEqual(await store.load("another"), { habits: [], ways: [], dependencies: [] });
  }));

Deno.test("rows that were not used for long are forgotten when a scope is read", () =>
  withEmptyDatabase(async (db) => {
    const store = createLearningStore(db);
    store.habit("user", "p", "old");
    store.habit("user", "p", "new");
    await store.flush();
    await db.exec("update tool_habit set used_at = now() - interval '200 days' where next = 'old'");
    assert.deepEqual((await store.load("user")).habits.map(({ next }) => next), ["new"]);
    assert.deepEqual(await db.query("select next from tool_habit"), [{ next: "new" }]);
  }));

Deno.test("without a database reading says so, and writing is no failure", async () => {
  const store = createLearningStore(lazyDatabase(() => Promise.reject(noDatabase())));
  await assert.rejects(store.load("user"), { code: "DB_UNUSABLE" });
  store.habit("user", "p", "n");
  await store.flush();
});

Deno.test("a way is written as it stands last, and one that is forgotten before leaves no row", () =>
  withEmptyDatabase(async (db) => {
    const store = createLearningStore(db);
    const way = (value: number, trials = 1) => ({
      place: "tool s:a",
      recipe: { tool: "s:b", arguments: { n: { kind: "constant" as const, value } } },
      hits: 1,
      trials,
    });
    const [lasting, passing] = [way(1), way(2)];
    for (const one of [lasting, passing]) store.way("user", one);
    lasting.trials = 5;
    store.forget("user", passing);
    await store.flush();
    const ways = async () => (await store.load("user")).ways.map(({ recipe, trials }) => [recipe.arguments.n, trials]);
    assert.deepEqual(await ways(), [[{ kind: "constant", value: 1 }, 5]]);
    // It comes back as another object while the row of the first is still there.
    store.forget("user", lasting);
    store.way("user", way(1, 1));
    await store.flush();
    assert.deepEqual(await ways(), [[{ kind: "constant", value: 1 }, 1]]);
    store.forget("user", way(1, 2));
    await store.flush();
    assert.deepEqual(await ways(), []);
  }));
