// A cache that the user configures per tool: marked with its age, ended by what acts on the server.
import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { callsIn, createTestHome, testServer } from "../fixtures/gateway.ts";

Deno.test("reads of a cached tool are answered from the last result, with its age, until something acts on the server", async () => {
  await using home = await createTestHome((dir) => ({
    servers: { shop: testServer("shop", `--log=${dir}/shop.log`) },
    cache: { "shop:*": "1h", "shop:get_product": "1ms", "shop:update_order": "1h" },
    policy: { speculate: { enabled: false } },
  }));
  await using client = await connectClient(home);
  const calls = async (tool: string) =>
    (await callsIn(`${home.dir}/shop.log`)).filter((line) => line.startsWith(tool)).length;
  const order = (id: string) => client.use("shop:get_order", { order_id: id });
  const first = await order("W-ann-1");
  assert.equal(first._meta, undefined);
  const again = await order("W-ann-1");
  assert.deepEqual(again.structuredContent, first.structuredContent);
  assert.ok(Number(again._meta?.["agentcards/cached_ms"]) >= 0);
  assert.match(
    JSON.stringify(again.content),
    /this answer was kept, as \\"cache\\" in config.yaml says, and is \d+ s old/,
  );
  await order("W-ann-2");
  assert.equal(await calls("get_order"), 2, "the same call only");
  const task = { id: "order", tool: "shop:get_order", arguments: { order_id: "W-ann-1" } };
  const run = JSON.parse(textOf(await client.call("run_workflow", { tasks: [task] })));
  assert.deepEqual([run.status, run.results.order.status], ["completed", "open"]);
  assert.equal(await calls("get_order"), 2, "in a run, too");
  await client.use("shop:update_order", { order_id: "W-ann-1", status: "sent" });
  await client.use("shop:update_order", { order_id: "W-ann-1", status: "sent" });
  assert.equal(await calls("update_order"), 2, "what acts is never answered from a cache");
  const changed = await order("W-ann-1");
  assert.equal((changed.structuredContent as { status: string }).status, "sent");
  await client.use("shop:get_product", { product_id: "P-1" });
  await client.use("shop:get_product", { product_id: "P-1" });
  assert.equal(await calls("get_product"), 2, "the longest pattern counts");
});

Deno.test("without a configured cache every call is made", async () => {
  await using home = await createTestHome((dir) => ({
    servers: { shop: testServer("shop", `--log=${dir}/shop.log`) },
  }));
  await using client = await connectClient(home);
  for (let i = 0; i < 3; i++) {
    const result = await client.use("shop:get_order", { order_id: "W-ann-1" });
    assert.equal(result._meta, undefined);
  }
  assert.equal((await callsIn(`${home.dir}/shop.log`)).length, 3);
});
