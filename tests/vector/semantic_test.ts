import assert from "node:assert/strict";
import { DEFAULTS } from "../../src/config/schema.ts";
import type { Database } from "../../src/db/database.ts";
import { readQuery } from "../../src/vector/query.ts";
import { createSemantic, type Semantic, type SemanticOptions } from "../../src/vector/semantic.ts";
import { phraseText } from "../../src/vector/tool_text.ts";
import { withEmptyDatabase } from "../fixtures/shared_database.ts";
import { sharedModels, sleep, until } from "../fixtures/gateway.ts";
import { MODEL, startHub, type TestHub } from "../fixtures/hub.ts";

const MINILM = DEFAULTS.embeddings;
const TEXTS = ["water the plants", "send a letter", "list the files of a folder"].map(phraseText);

interface Place {
  readonly semantic: Semantic;
  readonly hub: TestHub;
  readonly db: Database;
  open(options?: Partial<SemanticOptions>): Semantic;
}

const withSemantic = (test: (place: Place) => Promise<void>) => withEmptyDatabase((db) => inPlace(db, test));

async function inPlace(db: Database, test: (place: Place) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "ac-semantic-" });
  await Deno.mkdir(`${dir}/models`);
  await Deno.symlink(`${await sharedModels()}/all-MiniLM-L6-v2`, `${dir}/models/all-MiniLM-L6-v2`);
  const made: Semantic[] = [];
  const open = (options: Partial<SemanticOptions> = {}) => {
    made.push(createSemantic({ database: db, models: `${dir}/models`, ...options }));
    return made.at(-1)!;
  };
  try {
    await using hub = await startHub();
    await test({ semantic: open(), hub, db, open });
  } finally {
    for (const semantic of made) await semantic.close();
    await Deno.remove(dir, { recursive: true });
  }
}

async function best(semantic: Semantic, query: string): Promise<number> {
  const found = await semantic.similar(readQuery(query), TEXTS, []);
  assert.equal(found.kind, "scores", JSON.stringify(found));
  const { whole } = (found as Extract<typeof found, { kind: "scores" }>).tools;
  return whole.indexOf(Math.max(...whole));
}

Deno.test("a model that is not there is told, and correcting the name is enough", () =>
  withSemantic(async ({ semantic, hub }) => {
    semantic.configure({ model: "nobody/typo", hub: hub.url });
    semantic.index("s", TEXTS);
    await assert.rejects(semantic.settled(), /Cannot get the model nobody\/typo/);
    assert.equal((await semantic.similar(readQuery("mail"), TEXTS, [])).kind, "unavailable");
    semantic.configure(MINILM);
    await semantic.settled();
    assert.equal(await best(semantic, "post an envelope"), 1);
    assert.equal(semantic.status(TEXTS).problem, null);
  }));

Deno.test("what only a search needs is embedded in a quiet time", () =>
  withSemantic(async ({ db, open }) => {
    let looks = 0;
    let isQuiet = false;
    const semantic = open({ isBusy: () => (looks++, !isQuiet), worldAfterMs: [10, 10] });
    semantic.configure(MINILM);
    semantic.index("s", TEXTS);
    const rows = async () => (await db.query<{ n: number }>("select count(*)::int as n from tool_embedding"))[0]!.n;
    await until("several looks", () => looks > 3);
    assert.equal(await rows(), TEXTS.length);
    isQuiet = true;
    await until("the world is embedded", async () => await rows() > TEXTS.length);
  }));

Deno.test("a wish that changes again and again ends with the last one, and the old model serves meanwhile", () =>
  withSemantic(async ({ semantic, hub }) => {
    semantic.configure(MINILM);
    semantic.index("s", TEXTS);
    await semantic.settled();
    hub.isSlow = true;
    semantic.configure({ model: MODEL, hub: hub.url });
    await until("the download has begun", () => hub.requests.length > 0);
    assert.equal(await best(semantic, "post an envelope"), 1, "the old model serves");
    semantic.configure({ model: "nobody/other", hub: hub.url });
    semantic.configure(MINILM);
    await semantic.settled();
    const { model, next, indexed } = semantic.status(TEXTS);
    assert.deepEqual({ model, next, indexed }, { model: MINILM.model, next: null, indexed: 3 });
    assert.equal(await best(semantic, "post an envelope"), 1);
    hub.isSlow = false;
    semantic.configure({ model: MODEL, hub: hub.url });
    await semantic.settled();
    assert.equal(semantic.status(TEXTS).model, MODEL);
    semantic.configure(MINILM);
    await semantic.settled();
    assert.equal(await best(semantic, "post an envelope"), 1, "and back again");
  }));

Deno.test("closing does not wait for a hub that drips", () =>
  withSemantic(async ({ semantic, hub }) => {
    hub.isSlow = true;
    semantic.configure({ model: MODEL, hub: hub.url });
    semantic.index("s", TEXTS);
    await until("the download has begun", () => hub.requests.length > 0);
    const began = performance.now();
    await semantic.close();
    assert.ok(performance.now() - began < 1_000);
  }));

Deno.test("what was embedded is not embedded again, and what a source no longer says is no longer wanted", () =>
  withSemantic(async ({ semantic, db, open }) => {
    semantic.configure(MINILM);
    semantic.index("s", [...TEXTS, TEXTS[0]!]);
    semantic.index("twin", TEXTS);
    await semantic.settled();
    const rows = async () =>
      (await db.query<{ rows: string }>("select string_agg(hash || id, ' ' order by id) as rows from tool_embedding"))[
        0
      ]!
        .rows;
    const before = await rows();
    await semantic.close();
    const again = open();
    again.configure(MINILM);
    again.index("s", TEXTS.slice(0, 2));
    const seen: number[] = [];
    await again.settled((_, of) => seen.push(of));
    assert.equal(await rows(), before);
    assert.ok(seen.every((of) => of === 2), String(seen));
  }));

Deno.test("other files under the same name make the vectors anew", () =>
  withSemantic(async ({ semantic, db, open }) => {
    semantic.configure(MINILM);
    semantic.index("s", TEXTS);
    await semantic.settled();
    await semantic.close();
    await db.query(
      "update config_metadata set value = jsonb_set(value, '{fingerprint}', '\"other\"') where key like 'embeddings of %'",
    );
    await db.query("update tool_embedding set embedding = (select embedding from tool_embedding order by id limit 1)");
    const again = open();
    again.configure(MINILM);
    again.index("s", TEXTS);
    again.warm();
    await again.settled();
    await sleep(0);
    assert.equal(await best(again, "post an envelope"), 1, "the wrong vectors are gone");
  }));
