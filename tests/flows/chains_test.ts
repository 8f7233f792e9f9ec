// Chains of direct calls that came back with values flowing between them are offered as a workflow to save.
import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, testServer, until } from "../fixtures/gateway.ts";

Deno.test("a chain that came back three times is offered, saved as a workflow that runs, and offered no more", async () => {
  await using home = await createTestHome({
    servers: { shop: testServer("shop", "--delay=1") },
    policy: { speculate: { enabled: false } },
  });
  await using client = await connectClient(home);
  const offers = async () => JSON.parse((await home.run(["workflow", "suggest", "--json"])).stdout).offers;
  const chain = async (customer: string) => {
    await client.use("shop:list_orders", { customer });
    await client.use("shop:get_report", { filter: `about ${customer}` });
    const order = await client.use("shop:get_order", { order_id: `W-${customer}-1` });
    const { product_id } = order.structuredContent as { product_id: string };
    await client.use("shop:get_product", { product_id });
  };
  await chain("ann");
  await chain("ben");
  assert.deepEqual(await offers(), [], "twice may be chance");
  await chain("cal");
  await until("the offer", async () => (await offers()).length > 0, 20_000);
  const [offer, ...others] = await offers();
  assert.deepEqual(others, []);
  assert.deepEqual([offer.times, offer.tools], [3, ["shop:list_orders", "shop:get_order", "shop:get_product"]]);
  assert.match(offer.text, /\$OUTPUT\[list_orders\]\.orders\[0\]\.order_id/);
  assert.match(
    textOf(await client.call("search_tools", { query: "details of an order" })),
    /agentcards workflow suggest/,
  );
  const saved = await home.run(["workflow", "suggest", "--save", offer.id, "--name", "first_product"]);
  assert.match(saved.stdout, /Saved as workflow:first_product/);
  const result = await client.use("workflow:first_product", { customer: "dee" });
  const { status, results } = JSON.parse(textOf(result));
  assert.deepEqual([status, results.get_product.product_id], ["completed", "P-dee-1"]);
  assert.deepEqual(await offers(), []);
  const wrong = await home.run(["workflow", "suggest", "--save", "c0", "--name", "x"]);
  assert.equal(wrong.code === 0, false);
  assert.match(wrong.stderr, /There is no suggestion "c0"/);
});
