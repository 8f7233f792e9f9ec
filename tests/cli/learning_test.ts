// What was learned, at the command line: the graph, saved workflows.
import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, sleep, testServer, until, withPreset } from "../fixtures/gateway.ts";

Deno.test("the graph shows what leads to what and why; what fails is worth less", async () => {
  await using home = await createTestHome({ servers: { shop: testServer("shop", "--delay=1") } }, { hasModel: true });
  {
    await using client = await connectClient(home);
    for (const customer of ["ann", "ben"]) {
      await client.use("shop:list_orders", { customer });
      await client.use("shop:get_order", { order_id: `W-${customer}-1` });
      await client.use("shop:update_order", { order_id: `W-${customer}-1`, status: "impossible" });
      await sleep(60);
    }
    const done = JSON.parse(textOf(
      await client.call("run_workflow", {
        tasks: [
          { id: "order", tool: "shop:get_order", arguments: { order_id: "W-cal-1" } },
          { id: "product", tool: "shop:get_product", arguments: { product_id: "$OUTPUT[order].product_id" } },
        ],
      }),
    ));
    assert.equal(done.status, "completed");
  }
  const shown = JSON.parse((await home.run(["graph", "shop:get_order", "--json"])).stdout);
  const edges = shown.neighbours as {
    tool: string;
    direction: string;
    reason: string;
    seen: number;
    failed: number;
    trust: number;
  }[];
  const find = (tool: string, reason: string) => edges.find((edge) => edge.tool === tool && edge.reason === reason)!;
  assert.equal(find("shop:list_orders", "orders[].order_id → order_id").direction, "before");
  assert.equal(find("shop:get_product", "product_id → product_id").direction, "after", "learned from a run");
  const failing = find("shop:update_order", "came next");
  assert.deepEqual([failing.seen, failing.failed], [2, 2]);
  assert.ok(failing.trust < find("shop:list_orders", "came next").trust);

  assert.match((await home.run(["graph", "shop:get_order"])).stdout, /orders\[\]\.order_id → order_id/);
  assert.equal(
    (await home.run(["graph", "shop:list_orders", "shop:get_product"])).stdout,
    "shop:list_orders → shop:get_order → shop:get_product\n",
  );
  const none = await home.run(["graph", "shop:get_product", "shop:list_orders"]);
  assert.deepEqual([none.code, none.stdout], [1, "Nothing that was seen leads from one to the other.\n"]);
  const dot = (await home.run(["graph", "--dot"])).stdout;
  assert.match(dot, /^digraph tools \{/);
  assert.match(dot, /"shop:list_orders" -> "shop:get_order"/);
});

Deno.test("a workflow that succeeded is saved by name, found by search and called like a tool", async () => {
  await using home = await createTestHome({ servers: { shop: testServer("shop", "--delay=1") } }, { hasModel: true });
  await using client = await connectClient(home);
  const first = JSON.parse(textOf(
    await client.call("run_workflow", {
      tasks: [
        { id: "orders", tool: "shop:list_orders", arguments: { customer: "ann" } },
        { id: "order", tool: "shop:get_order", arguments: { order_id: "$OUTPUT[orders].orders[0].order_id" } },
      ],
    }),
  ));
  const saved = await home.run([
    "workflow",
    "save",
    first.workflow_id,
    "first-order",
    "--param",
    "customer=orders.customer",
    "--description",
    "Tells the first purchase of somebody who buys here",
  ]);
  assert.equal(saved.code, 0, saved.stderr);
  assert.match(saved.stdout, /workflow:first-order in .*first-order\.yaml\nIt takes customer\./);
  await until(
    "search knows it",
    async () =>
      textOf(await client.call("search_tools", { query: "first purchase of a buyer" })).includes(
        "workflow:first-order",
      ),
  );

  const again = JSON.parse(textOf(await client.use("workflow:first-order", { customer: "ben" })));
  assert.equal(again.status, "completed");
  assert.equal(again.results.order.order_id, "W-ben-1");
  for (
    const [given, wrong] of [
      [{}, /customer/],
      [{ customer: ["x"] }, /customer must be string/],
      [{ customer: "x", more: 1 }, /more/],
    ] as const
  ) {
    const result = await client.use("workflow:first-order", given);
    assert.ok(result.isError);
    assert.match(textOf(result), wrong);
  }
  const literal = JSON.parse(textOf(await client.use("workflow:first-order", { customer: "$OUTPUT[order]" })));
  assert.equal(literal.results.order.order_id, "W-$OUTPUT[order]-1", "what is said refers to nothing");
  assert.match(textOf(await client.use("workflow:first-ordre")), /There is no saved workflow.*\n?.*first-order/s);
  const nested = await client.call("run_workflow", {
    tasks: [{ id: "a", tool: "workflow:first-order", arguments: { customer: "dan" } }],
  });
  assert.equal(JSON.parse(textOf(nested)).results.a.results.order.order_id, "W-dan-1");
  const configure = (policy: Record<string, unknown>) =>
    Deno.writeTextFile(
      `${home.dir}/config.yaml`,
      JSON.stringify(withPreset({ servers: { shop: testServer("shop", "--delay=1") }, policy })),
    );
  await configure({ approve: ["workflow:*"] });
  await using mute = await connectClient(home);
  assert.match(textOf(await mute.use("workflow:first-order", { customer: "ben" })), /needs a human's approval/);
  await configure({});

  await home.run(["engine", "stop"]);
  // A search waits a second for a database that is being opened; a busy machine may take longer.
  await until(
    "a new engine finds it",
    async () => /workflow:first-order/.test((await home.run(["search", "first purchase"])).stdout),
  );
  assert.match((await home.run(["workflow", "list"])).stdout, /workflow:first-order/);
  assert.match((await home.run(["call", "workflow:first-order", '{"customer":"eve"}'])).stdout, /W-eve-1/);
  assert.equal((await home.run(["workflow", "remove", "first-order"])).code, 0);
  assert.equal((await home.run(["workflow", "remove", "first-order"])).code, 1);
  assert.match(textOf(await client.use("workflow:first-order", { customer: "x" })), /There is no saved workflow/);
});
