import assert from "node:assert/strict";
import { DEFAULTS } from "../../src/config/schema.ts";
import { readQuery } from "../../src/vector/query.ts";
import { openShelf } from "../../src/vector/model_index.ts";
import { createVectorStore } from "../../src/vector/vector_store.ts";
import { phraseText } from "../../src/vector/tool_text.ts";
import { openEmptyDatabase } from "../fixtures/database.ts";
import { sharedModels } from "../fixtures/gateway.ts";

Deno.test("a shelf keeps vectors, finds them again, and encodes a repeated request once", async () => {
  const dir = await Deno.makeTempDir({ prefix: "ac-shelf-" });
  const db = await openEmptyDatabase(`${dir}/data`);
  try {
    const store = createVectorStore(db);
    const options = { ...DEFAULTS.embeddings, store, models: await sharedModels() };
    const shelf = await openShelf(options);
    const texts = ["water the plants", "send a letter"].map(phraseText);
    await shelf.add(texts);
    assert.equal(shelf.state, "ready");
    assert.equal(shelf.dimension, 384);
    const query = readQuery("sprinkle the flowers. Then post an envelope.");
    const first = await shelf.encode(query);
    assert.equal(await shelf.encode(query), first, "the very same object");
    assert.equal(first.steps.length, 2);
    const ids = texts.map(({ hash }) => shelf.ids.get(hash)!);
    const request = { model: shelf.model, dimension: 384, ids, rows: 2, also: [], whole: first.steps[0]!, steps: [] };
    const { whole } = await store.score(request);
    assert.ok(whole[0]! > whole[1]!, "the first step is about plants");
    shelf.close();
    await assert.rejects(shelf.load(), /unloaded/);
    const again = await openShelf(options);
    assert.deepEqual([...again.ids], [...shelf.ids]);
    again.close();
  } finally {
    await db.close();
    await Deno.remove(dir, { recursive: true });
  }
});
