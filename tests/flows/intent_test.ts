// What is wanted, in words: planned with what is said, with what was learned, and run as far as it is safe.
import assert from "node:assert/strict";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { callsIn, createTestHome, sleep, type TestHome, testServer, until } from "../fixtures/gateway.ts";

interface Answer {
  mode: "explicit_required" | "suggestion" | "speculative_execution";
  confidence: number;
  workflow: { tasks: { id: string; tool: string; arguments: Record<string, unknown>; depends_on?: string[] }[] };
  missing: { task: string; tool: string; parameter: string; why: string }[];
  explanation: string[];
  next: string;
  status?: string;
  workflow_id?: string;
  results?: Record<string, unknown>;
  injected?: string[];
  tasks?: { id: string; status: string }[];
}

async function shop(): Promise<{ home: TestHome; calls(): Promise<string[]> }> {
  const home = await createTestHome((dir) => ({
    servers: { shop: testServer("shop", `--log=${dir}/shop.log`, "--delay=5") },
  }), { hasModel: true });
  const indexed = await home.run(["index"]);
  assert.equal(indexed.code, 0, indexed.stderr);
  return { home, calls: () => callsIn(`${home.dir}/shop.log`) };
}

const twoTasks = (customer: string) => [
  { id: "orders", tool: "shop:list_orders", arguments: { customer } },
  { id: "product", tool: "shop:get_product", arguments: { product_id: "P-1" }, depends_on: ["orders"] },
];

const plan = async (client: RawClient, intent: string): Promise<Answer> =>
  JSON.parse(textOf(await client.call("run_workflow", { intent })));
const resume = async (client: RawClient, input: Record<string, unknown>): Promise<Answer> =>
  JSON.parse(textOf(await client.call("resume_workflow", input)));

Deno.test("an intent becomes a workflow with what it says, runs nothing unasked, and says what is missing", async () => {
  const { home, calls } = await shop();
  await using _home = home;
  await using client = await connectClient(home);
  const listed = await plan(client, 'List the orders of the customer "ann"');
  assert.deepEqual(listed.workflow.tasks, [{
    id: "list_orders",
    tool: "shop:list_orders",
    arguments: { customer: "ann" },
  }]);
  assert.deepEqual(listed.missing, []);
  assert.ok(listed.confidence > 0 && listed.confidence < 0.92, String(listed.confidence));
  assert.notEqual(listed.mode, "speculative_execution");
  assert.ok(listed.explanation.some((line) => line.includes("list_orders.customer")));

  const changed = await plan(client, "Change the status of the order W-ann-1");
  assert.deepEqual(changed.workflow.tasks.map(({ tool, arguments: given }) => [tool, given]), [
    ["shop:update_order", { order_id: "W-ann-1" }],
  ]);
  assert.deepEqual(changed.missing.map(({ tool, parameter }) => `${tool} ${parameter}`), ["shop:update_order status"]);
  assert.match(changed.next, /Nothing was run/);

  const order = await plan(
    client,
    "Change the status of the order W-ann-1 with status paid, then tell the details of the order W-ann-1",
  );
  assert.deepEqual(order.workflow.tasks.map(({ tool, depends_on = [] }) => [tool, ...depends_on]), [
    ["shop:update_order"],
    ["shop:get_order", "update_order"],
  ], "what is read after something acted waits for it");

  const nothing = await plan(client, "Sing me a song about the sea");
  assert.deepEqual([nothing.mode, nothing.confidence], ["explicit_required", 0]);
  assert.deepEqual(await calls(), []);

  const judged = async () => JSON.parse((await home.run(["status", "--json"])).stdout).suggestions;
  for (const [customer, right] of [["ann", 1], ["ben", 1]] as const) {
    const [task] = (await plan(client, 'List the orders of the customer "ann"')).workflow.tasks;
    await client.call("run_workflow", { tasks: [{ ...task, arguments: { customer } }] });
    assert.equal((await judged()).right, right, "a suggestion whose values had to be corrected was not right");
  }
  assert.equal((await judged()).outcomes, 2);
});

Deno.test("what was wanted before is known: the part that reads is run at once, the rest waits", async () => {
  const { home, calls } = await shop();
  await using _home = home;
  const intent = (customer: string) =>
    `Tell the details of the order "W-${customer}-1", then change the status of the order W-${customer}-1 with status paid`;
  await using client = await connectClient(home);
  let answer = await plan(client, intent("ann"));
  assert.deepEqual(answer.workflow.tasks.map(({ tool }) => tool), ["shop:get_order", "shop:update_order"]);
  const first = answer.confidence;
  for (
    const customer of [
      "ben",
      "cal",
      "dee",
      "eve",
      "fay",
      "gus",
      "hal",
      "ida",
      "jan",
      "kim",
      "lea",
      "mia",
      "noa",
      "oda",
      "pat",
    ]
  ) {
    if (answer.mode === "speculative_execution") break;
    await client.call("run_workflow", { tasks: answer.workflow.tasks });
    await sleep(60);
    answer = await plan(client, intent(customer));
  }
  assert.ok(answer.confidence > first, "experience makes it surer");
  assert.equal(answer.mode, "speculative_execution", `${answer.confidence}`);
  assert.equal(answer.status, "paused");
  assert.deepEqual(answer.tasks!.map(({ id, status }) => [id, status]), [
    ["get_order", "success"],
    ["update_order", "waiting"],
  ]);
  const { order_id } = answer.workflow.tasks[1]!.arguments;
  assert.ok(!(await calls()).some((line) => line.startsWith("update_order") && line.includes(String(order_id))));
  const done = await resume(client, { workflow_id: answer.workflow_id, action: "continue" });
  assert.equal(done.status, "completed");
  assert.ok((await calls()).some((line) => line.startsWith("update_order") && line.includes(String(order_id))));
});

Deno.test("replan proposes tasks bound to what a run has, and adds none of them", async () => {
  const { home, calls } = await shop();
  await using _home = home;
  {
    await using client = await connectClient(home);
    for (const customer of ["ann", "ben", "cal"]) {
      await client.use("shop:list_orders", { customer });
      await client.use("shop:get_order", { order_id: `W-${customer}-1` });
      await sleep(60);
    }
  }
  await using client = await connectClient(home);
  const paused: Answer = JSON.parse(textOf(
    await client.call("run_workflow", {
      tasks: twoTasks("fay"),
      options: { pause_after: ["orders"] },
    }),
  ));
  assert.equal(paused.status, "paused");
  const workflow_id = paused.workflow_id;
  const more = await resume(client, { workflow_id, action: "replan", requirement: "tell the details of the order" });
  const untouched = await resume(client, { workflow_id, action: "status" });
  assert.deepEqual(untouched.tasks!.map(({ id }) => id), paused.tasks!.map(({ id }) => id), "nothing was added");
  assert.deepEqual(more.workflow.tasks[0]!.arguments, { order_id: "$OUTPUT[orders].orders[0].order_id" });
  assert.equal(more.status, "paused", "it goes on when it is told to");
  await resume(client, { workflow_id, action: "inject", tasks: more.workflow.tasks });
  const done = await resume(client, { workflow_id, action: "continue" });
  assert.equal(done.status, "completed");
  assert.deepEqual((done.results!.get_order as { order_id: string }).order_id, "W-fay-1");
  assert.ok((await calls()).some((line) => line.includes("W-fay-1")));

  const unclear: Answer = JSON.parse(textOf(
    await client.call("run_workflow", {
      tasks: twoTasks("gus"),
      options: { pause_after: ["orders"] },
    }),
  ));
  const open = await resume(client, {
    workflow_id: unclear.workflow_id,
    action: "replan",
    requirement: "change the status of the order",
  });
  assert.ok(open.missing.some(({ parameter }) => parameter === "status"));
  const running = client.call("run_workflow", {
    tasks: [{ id: "orders", tool: "shop:list_orders", arguments: { customer: "hal" } }, {
      id: "slow",
      type: "code_execution",
      code: "await new Promise((r) => setTimeout(r, 3000)); return 1",
    }],
  }, { progressToken: "p" });
  await until("it runs", () => client.others.some(({ params }) => JSON.stringify(params ?? {}).includes("wf_")));
  const id = /wf_[0-9a-f]+/.exec(
    JSON.stringify(client.others.findLast(({ params }) => JSON.stringify(params ?? {}).includes("wf_"))),
  )![0];
  const acting = await resume(client, {
    workflow_id: id,
    action: "replan",
    requirement: 'change the status of the order W-hal-1 with status "lost"',
  });
  assert.match(acting.next, /Nothing was added/);
  await running;
  assert.ok(!(await calls()).some((line) => line.startsWith("update_order") && line.includes("W-hal-1")));
  const missing = await client.call("resume_workflow", { workflow_id: unclear.workflow_id, action: "replan" });
  assert.match(textOf(missing), /requirement is missing/);
});
