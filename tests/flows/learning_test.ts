// It learns: what follows what, with which arguments, and makes the next call before it is asked for.
import assert from "node:assert/strict";
import { stringify } from "yaml";
import { openDatabase } from "../../src/db/pglite.ts";
import { connectClient, type RawClient, textOf, type ToolResult } from "../fixtures/client.ts";
import { callsIn, createTestHome, sleep, type TestHome, testServer, until } from "../fixtures/gateway.ts";

const MARK = "agentcards/speculated";
const isAhead = (result: ToolResult) => result._meta?.[MARK] !== undefined;

interface Shop {
  readonly home: TestHome;
  /** What the server was really asked. */
  calls(): Promise<string[]>;
  configure(policy: Record<string, unknown>): Promise<void>;
}

async function shopHome(): Promise<Shop> {
  const serversIn = (dir: string) => ({ shop: testServer("shop", `--log=${dir}/shop.log`) });
  const home = await createTestHome((dir) => ({ servers: serversIn(dir) }));
  return {
    home,
    configure: (policy) =>
      Deno.writeTextFile(`${home.dir}/config.yaml`, stringify({ servers: serversIn(home.dir), policy })),
    calls: () => callsIn(`${home.dir}/shop.log`),
  };
}

/** Looks up the first order of a customer, as somebody does who does it every day. */
async function lookUp(client: RawClient, customer: string): Promise<ToolResult> {
  await client.use("shop:list_orders", { customer });
  await sleep(150);
  return await client.use("shop:get_order", { order_id: `W-${customer}-1` });
}

async function learnFive(home: TestHome): Promise<void> {
  for (const customer of ["ann", "ben", "cal", "dee", "eve"]) {
    await using client = await connectClient(home);
    await lookUp(client, customer);
    await sleep(60);
  }
}

interface Counts {
  made: number;
  used: number;
  unused: number;
}

async function countsOf(home: TestHome): Promise<Counts> {
  return JSON.parse((await home.run(["speculation", "--json"])).stdout);
}

Deno.test("after five similar runs the second call is answered before it is asked for, also by another engine", async () => {
  const { home, calls } = await shopHome();
  await using _home = home;
  await learnFive(home);
  {
    await using client = await connectClient(home);
    await client.use("shop:list_orders", { customer: "fay" });
    await until("it is made ahead", async () => (await calls()).some((line) => line.includes("W-fay-1")));
    const result = await client.use("shop:get_order", { order_id: "W-fay-1" });
    assert.ok(isAhead(result), "the answer is marked");
    assert.deepEqual(result.structuredContent, { order_id: "W-fay-1", product_id: "P-fay-1", status: "open" });
    assert.equal((await calls()).filter((line) => line.includes("W-fay-1")).length, 1, "it was called once");
    assert.ok(!isAhead(await client.use("shop:get_order", { order_id: "W-fay-1" })), "an answer is used once");
  }
  await home.run(["engine", "stop"]);
  await using client = await connectClient(home);
  await client.use("shop:list_orders", { customer: "gus" });
  await until("it is made ahead", async () => (await calls()).some((line) => line.includes("W-gus-1")));
  const next = await client.use("shop:get_order", { order_id: "W-gus-1" });
  assert.ok(isAhead(next), "what was learned outlives the engine");
  const { made, used, unused } = await countsOf(home);
  assert.ok(used >= 2 && made === used && unused === 0, JSON.stringify({ made, used, unused }));
  const told = JSON.parse((await home.run(["speculation", "--json"])).stdout);
  assert.equal(told.calls, 15, "those of the engine before are counted, too");
  assert.deepEqual([told.hit_rate, told.waste, told.precision], [used / 15, 0, 1]);
});

Deno.test("what is not asked for is wasted within the budget, and then no more", async () => {
  const { home, calls } = await shopHome();
  await using _home = home;
  await learnFive(home);
  const before = await countsOf(home);
  for (const customer of ["fay", "gus", "hal"]) {
    await using client = await connectClient(home);
    await client.use("shop:list_orders", { customer });
    await sleep(250);
    await client.use("shop:get_product", { product_id: `P-${customer}-2` });
    await sleep(60);
  }
  await until("they are given up", async () => (await countsOf(home)).unused > 0);
  const { made, used } = await countsOf(home);
  assert.deepEqual(
    [made - before.made, used - before.used],
    [1, 0],
    "the first was wrong, the next ones were not risked",
  );
  const wasted = (await calls()).filter((line) => /^get_order .*W-(fay|gus|hal)/.test(line));
  assert.equal(wasted.length, 1);
});

Deno.test("a call that acts makes what was read ahead from its server old", async () => {
  const { home, calls } = await shopHome();
  await using _home = home;
  await learnFive(home);
  await using client = await connectClient(home);
  await client.use("shop:list_orders", { customer: "fay" });
  await until(
    "it is made ahead",
    async () => (await calls()).some((line) => line.includes("get_order") && line.includes("fay")),
  );
  await sleep(60);
  await client.use("shop:update_order", { order_id: "W-fay-1", status: "paid" });
  const result = await client.use("shop:get_order", { order_id: "W-fay-1" });
  assert.ok(!isAhead(result));
  assert.equal((result.structuredContent as { status: string }).status, "paid");
});

Deno.test("an answer is for the very call it was made for: long arguments are nobody else's", async () => {
  const { home } = await shopHome();
  await using _home = home;
  for (let i = 0; i < 6; i++) {
    await using client = await connectClient(home);
    await client.use("shop:list_orders", { customer: "ann" });
    await client.use("shop:get_report", { filter: "A".repeat(700) });
    await sleep(60);
  }
  await using client = await connectClient(home);
  await client.use("shop:list_orders", { customer: "ann" });
  await sleep(200);
  const result = await client.use("shop:get_report", { filter: "B".repeat(700) });
  assert.deepEqual(result.structuredContent, { filter: "B".repeat(700) });
  assert.ok(!isAhead(result));
});

Deno.test("a task that says it acts is really called, and what was read is old after it", async () => {
  const { home, calls } = await shopHome();
  await using _home = home;
  await learnFive(home);
  await using client = await connectClient(home);
  await client.use("shop:list_orders", { customer: "fay" });
  const asked = async () => (await calls()).filter((line) => line.includes("W-fay-1")).length;
  await until("it is made ahead", async () => await asked() === 1);
  await sleep(60);
  const task = { id: "a", tool: "shop:get_order", arguments: { order_id: "W-fay-1" }, side_effects: true };
  const done = JSON.parse(textOf(await client.call("run_workflow", { tasks: [task] })));
  assert.equal(done.status, "completed");
  assert.equal(await asked(), 2);
});

Deno.test("what is secret is not remembered, and a project's server hears nothing that another one's was told", async () => {
  const { home } = await shopHome();
  await using _home = home;
  await Deno.writeTextFile(`${home.dir}/secrets.env`, "SHOP_SECRET=hidden-key-4711\n", { mode: 0o600 });
  const project = async (name: string) => {
    const cwd = `${home.dir}/${name}`;
    const log = `${cwd}/shop.log`;
    await Deno.mkdir(`${cwd}/.agentcards`, { recursive: true });
    const servers = { db: testServer("shop", `--log=${log}`) };
    await Deno.writeTextFile(`${cwd}/.agentcards/config.yaml`, stringify({ servers }));
    const trusted = await home.run(["trust", "--yes"], { cwd });
    assert.equal(trusted.code, 0, trusted.stderr);
    return { cwd, calls: async () => (await callsIn(log)).join("\n") };
  };
  const [one, two] = [await project("one"), await project("two")];
  for (let i = 0; i < 6; i++) {
    await using client = await connectClient(home, { cwd: one.cwd });
    await client.use("db:list_orders", { customer: "ann" });
    await client.use("db:get_report", { filter: "patients of one" });
    await client.use("db:get_report", { filter: "hidden-key-4711" });
    await client.use("db:get_product", { product_id: "x", password: "hunter2hunter2" });
    await sleep(60);
  }
  {
    await using client = await connectClient(home, { cwd: two.cwd });
    await client.use("db:list_orders", { customer: "ann" });
    await sleep(300);
    assert.ok(!(await two.calls()).includes("patients of one"));
  }
  await home.run(["engine", "stop"]);
  const kept = await openDatabase(`${home.dir}/data`);
  const rows = JSON.stringify([
    await kept.query("select * from tool_habit"),
    await kept.query("select * from tool_dependency"),
    await kept.query("select * from learned_state"),
  ]);
  await kept.close();
  assert.ok(rows.includes("patients of one"), "what is no secret is");
  assert.ok(!rows.includes("hidden-key-4711") && !rows.includes("hunter2hunter2"));
});

for (
  const [what, policy] of [
    ["switched off", { speculate: { enabled: false } }],
    ["denied", { speculate: { deny: ["shop:get_*"] } }],
    ["too dear", { speculate: { costs: { "shop:*": 0.2 } } }],
    ["said to act", { effects: { "shop:get_order": "idempotent" } }],
    ["to be approved", { approve: ["shop:get_order"] }],
  ] as const
) {
  Deno.test(`nothing is called ahead that is ${what}`, async () => {
    const { home, calls, configure } = await shopHome();
    await using _home = home;
    await learnFive(home);
    await home.run(["engine", "stop"]);
    await configure(policy);
    const before = await countsOf(home);
    await using client = await connectClient(home);
    await client.use("shop:list_orders", { customer: "fay" });
    await sleep(400);
    assert.equal((await countsOf(home)).made, before.made);
    assert.ok(!(await calls()).some((line) => line.includes("W-fay-1")));
  });
}
