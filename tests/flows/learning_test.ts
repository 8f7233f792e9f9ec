// It learns what follows what, with which arguments; every call is still made when it is asked for.
import assert from "node:assert/strict";
import { stringify } from "yaml";
import { openDatabase } from "../../src/db/pglite/open.ts";
import { connectClient, type RawClient, type ToolResult } from "../fixtures/client.ts";
import { callsIn, createTestHome, sleep, type TestHome, testServer } from "../fixtures/gateway.ts";

interface Shop {
  readonly home: TestHome;
  /** What the server was really asked. */
  calls(): Promise<string[]>;
}

async function shopHome(): Promise<Shop> {
  const serversIn = (dir: string) => ({ shop: testServer("shop", `--log=${dir}/shop.log`) });
  const home = await createTestHome((dir) => ({ servers: serversIn(dir) }), { hasModel: true });
  return {
    home,
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

Deno.test("every call is made when it is asked for: nothing is answered from memory", async () => {
  const { home, calls } = await shopHome();
  await using _home = home;
  await learnFive(home);
  await using client = await connectClient(home);
  await client.use("shop:list_orders", { customer: "fay" });
  await sleep(400);
  const before = (await calls()).filter((line) => line.includes("W-fay-1")).length;
  for (let times = 1; times <= 3; times++) {
    const result = await client.use("shop:get_order", { order_id: "W-fay-1" });
    assert.equal(result._meta, undefined);
    assert.equal((await calls()).filter((line) => line.includes("W-fay-1")).length, before + times);
  }
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
