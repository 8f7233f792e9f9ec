// A workflow that succeeded is suggested for a request like its own, with the values of the new request.
import assert from "node:assert/strict";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { callsIn, createTestHome, testServer } from "../fixtures/gateway.ts";

const CUSTOMER_TASKS = [
  { id: "orders", tool: "shop:list_orders", arguments: { customer: "ann" } },
  { id: "first", tool: "shop:get_order", arguments: { order_id: "$OUTPUT[orders].orders[0].order_id" } },
  { id: "product", tool: "shop:get_product", arguments: { product_id: "$OUTPUT[first].product_id" } },
];

const plan = async (client: RawClient, intent: string) =>
  JSON.parse(textOf(await client.call("run_workflow", { intent })));

Deno.test("one success is enough: a paraphrase with other values gets the same tools with the new values, as a suggestion", async () => {
  await using home = await createTestHome((dir) => ({
    servers: { shop: testServer("shop", `--log=${dir}/shop.log`, "--delay=1") },
    policy: { speculate: { enabled: false } },
  }));
  await using client = await connectClient(home);
  const done = JSON.parse(textOf(
    await client.call("run_workflow", {
      intent: 'Tell the product of the first order of the customer "ann"',
      tasks: CUSTOMER_TASKS,
    }),
  ));
  assert.equal(done.status, "completed", "an intent beside tasks is what they are for");
  const before = (await callsIn(`${home.dir}/shop.log`)).length;
  const near = await plan(client, 'Which product has the first order that customer "bob" made?');
  assert.equal(near.mode, "suggestion");
  assert.deepEqual(
    near.workflow.tasks.map(({ tool }: { tool: string }) => tool),
    CUSTOMER_TASKS.map(({ tool }) => tool),
  );
  assert.deepEqual(near.workflow.tasks[0].arguments, { customer: "bob" });
  assert.deepEqual(near.workflow.tasks[1].arguments, CUSTOMER_TASKS[1]!.arguments, "what flows goes on to flow");
  assert.match(near.explanation[0], /it succeeded once for "Tell the product/);
  assert.equal((await callsIn(`${home.dir}/shop.log`)).length, before, "a suggestion runs nothing");

  const open = await plan(client, "Tell me the product of the first order of that customer");
  assert.deepEqual(open.missing.map(({ parameter }: { parameter: string }) => parameter), ["customer"]);
  assert.equal(open.workflow.tasks[0].arguments.customer, undefined, "an old value is never taken for a new one");

  for (let i = 0; i < 3; i++) {
    await plan(client, 'Which product has the first order that customer "bob" made?');
    await client.call("run_workflow", { tasks: [CUSTOMER_TASKS[0]] });
  }
  const replaced = await plan(client, 'Which product has the first order that customer "cal" made?');
  assert.notEqual(replaced.mode, "suggestion", "what was replaced again and again is not suggested any more");
});

Deno.test("an intent that nothing is known of gives the likely tools with their signatures and a skeleton", async () => {
  await using home = await createTestHome({ servers: { shop: testServer("shop") } });
  await using client = await connectClient(home);
  await client.use("shop:get_report", { filter: "x" });
  const answer = await plan(client, "Something with an order, somehow, of whoever it may be");
  assert.equal(answer.mode, "explicit_required");
  assert.ok(
    answer.tools.some((line: string) => /shop:get_order\(order_id: string\)/.test(line)),
    JSON.stringify(answer),
  );
  if (answer.workflow.tasks.length === 0) {
    assert.match(answer.skeleton.tasks[0].tool, /^shop:/);
    assert.ok(Object.values(answer.skeleton.tasks[0].arguments).includes("<string>"));
  }
});
