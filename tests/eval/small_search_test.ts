// Small versions of the measuring commands about finding tools.
import assert from "node:assert/strict";
import { sharedModels } from "../fixtures/gateway.ts";
import { evaluate } from "./evaluate.ts";

Deno.test("eval index keeps what can be used and names what cannot", async () => {
  const dir = await Deno.makeTempDir({ prefix: "ac-lists-" });
  const object = { type: "object" };
  const lists = {
    good: [{ name: "read", inputSchema: object }, { name: "write", inputSchema: object }],
    odd: [{ name: "read" }, { name: "list", inputSchema: { type: "array" } }, { inputSchema: object }, null],
  };
  try {
    for (const [name, tools] of Object.entries(lists)) {
      await Deno.writeTextFile(`${dir}/${name}.json`, JSON.stringify({ tools }));
    }
    const { ms, dropped_tools, repaired_tools, ...counts } = await evaluate("index", "--data", dir);
    assert.deepEqual(counts, { servers: 2, tools: 3, listed: 6, dropped: 3, repaired: 1, colliding: 1 });
    assert.match(String(dropped_tools), /odd:list: inputSchema has type "array"/);
    assert.match(String(repaired_tools), /odd:read: inputSchema was missing/);
    assert.ok(Number(ms) >= 0);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("eval context compares every server's tools with ours", async () => {
  const dir = await Deno.makeTempDir({ prefix: "ac-context-" });
  try {
    await Deno.mkdir(`${dir}/tools`);
    await Deno.writeTextFile(`${dir}/servers.json`, JSON.stringify([{ id: "one", command: "one", args: [] }]));
    const tool = { name: "t", description: "d".repeat(4_000), inputSchema: {}, outputSchema: { not: "counted" } };
    await Deno.writeTextFile(`${dir}/tools/one.json`, JSON.stringify({ tools: [tool] }));
    const figures = await evaluate("context", "--servers", `${dir}/servers.json`);
    assert.deepEqual([figures.servers, figures.tools], [1, 1]);
    assert.deepEqual([figures.direct_tokens, figures.direct_share], [1_012, 0.0051]);
    assert.ok(Number(figures.ours_tokens) > 0 && Number(figures.ours_share) < 0.01);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("eval retrieval ranks through the product's own index, counts groups and any, and keeps distractors apart", async () => {
  const dir = await Deno.makeTempDir({ prefix: "ac-retrieval-" });
  const lines = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).join("\n") + "\n";
  const tool = (id: string, description: string) => ({ id, server: "s", name: id, description });
  try {
    for (const folder of ["main", "other"]) await Deno.mkdir(`${dir}/${folder}`);
    const tools = [
      tool("send_mail", "Sends an email to somebody"),
      tool("post_letter", "Sends an email to somebody"),
      tool("list_files", "Lists the files of a directory"),
      tool("get_weather", "Tells the weather of a city"),
    ];
    await Deno.writeTextFile(`${dir}/main/tools.jsonl`, lines(tools));
    await Deno.writeTextFile(`${dir}/other/tools.jsonl`, lines([tool("get_weather", "Tells the weather of a city")]));
    const mail = { query: "write an email to Bob", gold: ["send_mail", "post_letter"] };
    await Deno.writeTextFile(
      `${dir}/main/queries.jsonl`,
      lines([
        { ...mail, gold_groups: [["send_mail", "post_letter"]] },
        { ...mail, any: true },
        mail,
        { query: "show the files in this directory", gold: ["list_files"] },
        { query: "show the files in this directory", gold: ["nowhere"] },
      ]),
    );
    const models = await sharedModels();
    const figures = await evaluate(
      "retrieval",
      "--data",
      `${dir}/main`,
      "--distractors",
      `${dir}/other`,
      "--models",
      models,
    );
    assert.equal(figures.n, 5);
    assert.equal(figures.tools, 5);
    // 1 + 1 + 1/2 + 1 + 0 of five.
    assert.equal(figures.recall_at_1, 70);
    assert.equal(figures.recall_at_5, 80);
    assert.equal(figures.hit_at_5, 80);
    assert.equal(figures.mrr, 80);
    for (const key of ["p50_ms", "p95_ms", "index_ms"]) assert.ok(Number(figures[key]) > 0, key);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("eval search counts names, answers and abstentions", async () => {
  const dir = await Deno.makeTempDir({ prefix: "ac-search-" });
  const tool = (name: string, description: string) => ({ name, description, inputSchema: { type: "object" } });
  try {
    await Deno.mkdir(`${dir}/lists`);
    const office = [tool("send_mail", "Sends an email to somebody"), tool("find", "Finds a document")];
    await Deno.writeTextFile(`${dir}/lists/office.json`, JSON.stringify({ tools: office }));
    const requests = [
      { query: "send an email to my boss", servable: true, gold: ["office:send_mail"] },
      { query: "order a pizza with extra cheese", servable: false },
    ];
    await Deno.writeTextFile(`${dir}/requests.jsonl`, requests.map((row) => JSON.stringify(row)).join("\n"));
    const options = ["--data", `${dir}/lists`, "--requests", `${dir}/requests.jsonl`, "--models", await sharedModels()];
    const figures = await evaluate("search", ...options);
    assert.equal(figures.name_queries, 6);
    assert.deepEqual(figures.name_missed, []);
    assert.deepEqual([figures.unservable_abstained, figures.servable_abstained, figures.servable_hit_at_5], [1, 0, 1]);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
