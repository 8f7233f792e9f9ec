// A task that lacks an argument which an earlier output fits: proposed with the error, filled in only where asked.
import assert from "node:assert/strict";
import { connectClient, type Message, textOf } from "../fixtures/client.ts";
import { testServer } from "../fixtures/gateway.ts";
import { shareTestHome } from "../fixtures/shared_home.ts";
import { read, refused, resume, run, task } from "../fixtures/workflow.ts";

const TASKS = [
  task("order", "shop:get_order", { order_id: "W-ann-1" }),
  { id: "product", tool: "shop:get_product" },
];

Deno.test("a missing argument is proposed, and filled in where options.infer asks for it", async () => {
  await using home = await shareTestHome({ servers: { shop: testServer("shop", "--typed", "--delay=0") } });
  await using client = await connectClient(home, { cwd: home.dir });
  const words = await refused(client.call("run_workflow", { tasks: TASKS }));
  assert.match(words, /product_id/);
  const [, json = ""] = /Completed: (\[.*\]) \(product\.product_id ←/.exec(words) ?? [];
  const [completed] = JSON.parse(json) as [Message];
  assert.deepEqual(completed, { ...TASKS[1], arguments: { product_id: "$OUTPUT[order].product_id" } });
  assert.match(words, /Nothing was run\. .*options\.infer/);
  assert.deepEqual((await run(client, [TASKS[0], completed])).results, {
    product: { product_id: "P-ann-1", name: "Thing P-ann-1" },
  });

  const inferred = await run(client, TASKS, { infer: true, priority: 5 }) as unknown as Message & {
    workflow_id: string;
  };
  assert.deepEqual((inferred.results as Message).product, { product_id: "P-ann-1", name: "Thing P-ann-1" });
  assert.equal((inferred.inferred as Message[])[0]!.value, "$OUTPUT[order].product_id", "it is told");
  const shown = await home.run(["runs", "show", inferred.workflow_id]);
  assert.match(shown.stdout, /priority 5 of 5/);
  assert.match(shown.stdout, /inferred product\.product_id ← \$OUTPUT\[order\]\.product_id/);

  // Two outputs that fit: not sure, so it is only proposed.
  const two = [TASKS[0], task("other", "shop:get_order", { order_id: "W-bob-1" }), TASKS[1]];
  assert.match(
    await refused(client.call("run_workflow", { tasks: two, options: { infer: true } })),
    /Check it and send/,
  );
  // Nothing earlier fits, or it would come in a circle: the plain error.
  const none = [{ ...TASKS[1], depends_on: [] }, task("order", "shop:get_order", { order_id: "$OUTPUT[product].x" })];
  assert.doesNotMatch(await refused(client.call("run_workflow", { tasks: none })), /Completed/);
});

Deno.test("every decision takes a note, and it is shown", async () => {
  await using home = await shareTestHome({ servers: { shop: testServer("shop", "--typed", "--delay=0") } });
  await using client = await connectClient(home, { cwd: home.dir });
  const { workflow_id: id } = await run(client, TASKS, { infer: true, pause: "layer", priority: 1 });
  const others = client.others.length;
  const told = await client.call(
    "resume_workflow",
    { workflow_id: id, action: "continue", note: "looks right" },
    { progressToken: 7 },
  );
  assert.equal(read(told).status, "completed", textOf(told));
  const messages = client.others.slice(others).map(({ params }) => String((params as Message).message));
  assert.ok(messages.some((message) => message.includes("priority 1")), messages.join("; "));
  assert.match((await home.run(["runs", "show", id])).stdout, /looks right/);
  for (const action of ["abort", "retry"]) {
    await resume(client, id, action, { note: "x" }).catch((error) => assert.doesNotMatch(String(error), /note/));
  }
});
