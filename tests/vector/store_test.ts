import assert from "node:assert/strict";
import { createVectorStore } from "../../src/vector/vector_store.ts";
import { isOnPostgres, withEmptyDatabase } from "../fixtures/shared_database.ts";

/** A direction of length one, the same for the same seed. */
function direction(seed: number, dimension = 16): Float32Array {
  const raw = Float32Array.from({ length: dimension }, (_, i) => Math.sin((seed + 1) * (i + 1) * 1.7));
  const length = Math.hypot(...raw);
  return raw.map((value) => value / length);
}

const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);

Deno.test("scores are the cosines, in the order that was asked for", () =>
  withEmptyDatabase(async (db) => {
    const store = createVectorStore(db);
    const all = Array.from({ length: 40 }, (_, i) => ({ hash: `h${i}`, vector: direction(i) }));
    const ids = await store.save("m", all);
    await store.save("other", [{ hash: "h0", vector: direction(99, 8) }]);
    assert.deepEqual(await store.idsOf("m"), ids);
    const wanted = ["h7", "h3", "h21"];
    const [a, b, c] = [direction(100), direction(200), direction(300)];
    const request = {
      model: "m",
      dimension: 16,
      ids: wanted.map((hash) => ids.get(hash)!),
      rows: 3,
      whole: a,
      also: [],
    };
    const vectors = wanted.map((hash) => all.find((row) => row.hash === hash)!.vector);
    const near = (scores: Float32Array | undefined, expected: number[]) =>
      expected.forEach((value, i) => assert.ok(Math.abs(scores![i]! - value) < 1e-5));
    const { whole, step } = await store.score({ ...request, steps: [b, c] });
    near(whole, vectors.map((vector) => dot(a, vector)));
    near(step, vectors.map((vector) => Math.max(dot(b, vector), dot(c, vector))));
    assert.equal((await store.score({ ...request, steps: [] })).step, undefined);
    const picked = await store.score({ ...request, rows: 40, steps: [] });
    near(picked.whole, vectors.map((vector) => dot(a, vector)));
    assert.deepEqual([...(await store.score({ ...request, ids: [-1], steps: [] })).whole], [NaN]);
  }));

const LARGE = "in a large set the index finds the nearest, and what is asked for besides is scored too";
// The PostgreSQL of the tests has no pgvector.
Deno.test(LARGE, { ignore: isOnPostgres }, () =>
  withEmptyDatabase(async (db) => {
    const store = createVectorStore(db, 500);
    const all = Array.from({ length: 3_000 }, (_, i) => ({ hash: `h${i}`, vector: direction(i) }));
    const saved = await store.save("m", all);
    const ids = all.map(({ hash }) => saved.get(hash)!);
    const query = direction(5_000);
    const exact = all.map(({ vector }) => dot(query, vector));
    const order = [...exact.keys()].sort((x, y) => exact[y]! - exact[x]!);
    const far = order.at(-1)!;
    const request = { model: "m", dimension: 16, ids, rows: 3_000, whole: query, steps: [], also: [ids[far]!] };
    await store.takeStock("m", 16);
    const { whole: row } = await store.score(request);
    const found = order.slice(0, 50).filter((i) => !Number.isNaN(row[i]));
    assert.ok(found.length >= 48, `${found.length} of the nearest 50`);
    for (const i of [...found, far]) assert.ok(Math.abs(row[i]! - exact[i]!) < 1e-5);
    const looked = row.filter((score) => !Number.isNaN(score)).length;
    assert.ok(looked > 900 && looked < 2_200, `${looked} were looked at: the nearest and a sample`);
    const reopened = await createVectorStore(db, 500).score(request);
    assert.deepEqual(reopened.whole, row, "the index is found again by whoever comes next");
    const plan = await db.query<Record<string, string>>(
      `explain select id from tool_embedding where model = 'm'
       order by embedding::vector(16) <=> '[${query.join()}]'::vector(16) limit 10`,
    );
    assert.match(JSON.stringify(plan), /Index Scan using tool_embedding_m/);
    await store.forgetOtherModels("n");
    assert.equal((await store.idsOf("m")).size, 0);
    assert.deepEqual(await db.query("select indexname from pg_indexes where indexdef like '%hnsw%'"), []);
  }));

Deno.test("facts and the serving model are kept, and another model's vectors can be forgotten", () =>
  withEmptyDatabase(async (db) => {
    const store = createVectorStore(db);
    assert.equal(await store.servingModel(), undefined);
    for (const model of ["a", "b"]) {
      await store.setServingModel(model);
      await store.setFacts(model, { dimension: 16, fingerprint: `f-${model}` });
      await store.save(model, [{ hash: "h", vector: direction(1) }]);
    }
    assert.equal(await store.servingModel(), "b");
    assert.deepEqual(await store.factsOf("a"), { dimension: 16, fingerprint: "f-a" });
    await store.forgetOtherModels("b");
    assert.deepEqual([(await store.idsOf("a")).size, (await store.idsOf("b")).size], [0, 1]);
  }));

Deno.test("texts that nobody has used for a month are forgotten, those in use are not", () =>
  withEmptyDatabase(async (db) => {
    const store = createVectorStore(db);
    const ids = await store.save("m", [{ hash: "old", vector: direction(1) }, { hash: "used", vector: direction(2) }]);
    await db.exec("update tool_embedding set used_on = current_date - 40");
    assert.deepEqual(await store.prune("m", [ids.get("used")!]), ["old"]);
    assert.deepEqual([...(await store.idsOf("m")).keys()], ["used"]);
  }));

Deno.test("without pgvector the scores are the same, and rows that come later are read", () =>
  withEmptyDatabase(async (db) => {
    const [{ type }] = await db.query<{ type: string }>(
      "select udt_name as type from information_schema.columns where column_name = 'embedding'",
    ) as [{ type: string }];
    await db.exec("alter table tool_embedding alter column embedding type real[] using embedding::real[]");
    try {
      const store = createVectorStore(db, 10);
      const all = Array.from({ length: 30 }, (_, i) => ({ hash: `h${i}`, vector: direction(i) }));
      const first = await store.save("m", all.slice(0, 20));
      await store.takeStock("m", 16);
      const query = direction(77);
      const request = { model: "m", dimension: 16, rows: 20, whole: query, steps: [], also: [] };
      const score = async (ids: readonly number[]) => [...(await store.score({ ...request, ids })).whole];
      const near = (scores: readonly number[], from: number) =>
        scores.forEach((value, i) => assert.ok(Math.abs(value - dot(query, all[from + i]!.vector)) < 1e-5));
      near(await score([...first.values()]), 0);
      const later = await store.save("m", all.slice(20));
      near(await score([...later.values()]), 20);
      await store.forget("m");
      assert.deepEqual(await score([...later.values()].slice(0, 2)), [NaN, NaN]);
    } finally {
      await db.exec("delete from tool_embedding");
      if (type === "vector") await db.exec("alter table tool_embedding alter column embedding type vector");
    }
  }));
