// Reads made ahead: after a call the reads that usually come next are made at once and attached to its answer.
import assert from "node:assert/strict";
import { connectClient, type RawClient, textOf, type ToolResult } from "../fixtures/client.ts";
import { callsIn, createTestHome, type TestHome, testServer, until } from "../fixtures/gateway.ts";

const CUSTOMERS = ["ann", "ben", "cal", "dee", "eve", "fay", "gil", "hal", "ida", "jon", "kim", "lea"];
const AHEAD = "AgentCards read ahead: call_tool ";

interface Shop extends AsyncDisposable {
  readonly home: TestHome;
  readonly client: RawClient;
  /** What the server was really asked. */
  calls(): Promise<string[]>;
}

async function openShop(
  { config = {}, args = [], client = ["serve"] }: {
    config?: Record<string, unknown>;
    args?: string[];
    client?: string[];
  } = {},
): Promise<Shop> {
  const home = await createTestHome((dir) => ({
    servers: { shop: testServer("shop", `--log=${dir}/shop.log`, "--delay=1", ...args) },
    ...config,
  }));
  const connected = await connectClient(home, { args: client });
  return {
    home,
    client: connected,
    calls: () => callsIn(`${home.dir}/shop.log`),
    async [Symbol.asyncDispose]() {
      await connected[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

const list = (client: RawClient, customer: string) => client.use("shop:list_orders", { customer });

/** Looks up all orders of each customer, as somebody does every day. */
async function teach(client: RawClient): Promise<void> {
  for (const customer of CUSTOMERS) {
    assert.equal((await list(client, customer)).isError, undefined);
    await getAll(client, customer);
  }
}

async function getAll(client: RawClient, customer: string): Promise<void> {
  for (const n of [1, 2, 3]) {
    const order = await client.use("shop:get_order", { order_id: `W-${customer}-${n}` });
    assert.equal(order.isError, undefined, textOf(order));
  }
}

const blocksOf = ({ content }: ToolResult) => (content as { text: string }[]).map(({ text }) => text);
const attachedTo = (result: ToolResult) => blocksOf(result).filter((text) => text.startsWith(AHEAD));

/** Goes on so with customers nobody asked about until an answer brings their orders along. */
async function firstAttached(client: RawClient): Promise<{ customer: string; result: ToolResult }> {
  let found: { customer: string; result: ToolResult } | undefined;
  let n = 0;
  await until("an answer with reads made ahead", async () => {
    const customer = `new${++n}`;
    const result = await list(client, customer);
    if (attachedTo(result).length > 0) found = { customer, result };
    else await getAll(client, customer);
    return found !== undefined;
  }, 20_000);
  return found!;
}

Deno.test("the reads that usually follow are made and attached, each with tool, arguments and result; none answers a call", async () => {
  await using shop = await openShop();
  const { client, calls } = shop;
  await teach(client);
  const { customer, result } = await firstAttached(client);
  const [block] = attachedTo(result);
  const [head, , value] = block!.split("\n");
  const call = JSON.parse(head!.slice(AHEAD.length));
  assert.equal(call.tool, "shop:get_order");
  assert.match(call.arguments.order_id, new RegExp(`^W-${customer}-[123]$`));
  assert.deepEqual(JSON.parse(value!), {
    order_id: call.arguments.order_id,
    product_id: `P-${call.arguments.order_id.slice(2)}`,
    status: "open",
  });
  assert.deepEqual(
    JSON.parse(textOf(result).split("\n")[0]!),
    result.structuredContent,
    "the answer itself is as it was",
  );
  const asked = async () => (await calls()).filter((line) => line.includes(call.arguments.order_id)).length;
  assert.equal(await asked(), 1, "it was called, once");
  assert.match((await shop.home.run(["status"])).stdout, /read ahead +\d+ reads?, \d+ seen to be of use/);
  await client.use("shop:update_order", { order_id: call.arguments.order_id, status: "sent" });
  const before = await asked();
  const now = await client.use(call.tool, call.arguments);
  assert.equal((now.structuredContent as { status: string }).status, "sent");
  assert.equal(await asked(), before + 1, "a call that is asked for is made");
  assert.ok((await calls()).every((line) => !line.startsWith("update_order") || line.includes("sent")));
});

Deno.test("a client that shows structured content alone gets the text and the attachments instead of it", async () => {
  await using shop = await openShop({ client: ["serve", "--client", "claude-code"] });
  await teach(shop.client);
  const { customer, result } = await firstAttached(shop.client);
  assert.equal(result.structuredContent, undefined);
  const orders = [1, 2, 3].map((n) => ({ order_id: `W-${customer}-${n}` }));
  assert.deepEqual(JSON.parse(blocksOf(result)[0]!), { orders });
});

Deno.test("the answers of a run at its end and at a pause bring the reads along, and name the tasks that may be next", async () => {
  await using shop = await openShop();
  const { client } = shop;
  await teach(client);
  await firstAttached(client);
  const seen = { ended: false, paused: false, next: false };
  let n = 0;
  await until("attachments and next tasks", async () => {
    const customer = `run${++n}`;
    const list = { id: "list", tool: "shop:list_orders", arguments: { customer } };
    const report = { id: "report", tool: "shop:get_report", arguments: { filter: customer }, depends_on: ["list"] };
    const isPausing = n % 2 === 0;
    const result = await client.call("run_workflow", {
      tasks: isPausing ? [list, report] : [list],
      ...isPausing && { options: { pause_after: ["list"] } },
    });
    const { status, next } = JSON.parse(blocksOf(result)[0]!);
    assert.equal(status, isPausing ? "paused" : "completed");
    for (const block of attachedTo(result)) assert.match(block, new RegExp(`W-${customer}-[123]`));
    if (attachedTo(result).length > 0) seen[isPausing ? "paused" : "ended"] = true;
    if (Array.isArray(next)) {
      seen.next = true;
      for (const task of next) {
        assert.deepEqual([task.tool, Object.keys(task.arguments)], ["shop:get_order", ["order_id"]]);
        assert.match(task.arguments.order_id, new RegExp(`^W-${customer}-[123]$`));
      }
    }
    await getAll(client, customer);
    return seen.ended && seen.paused && seen.next;
  }, 30_000);
});

Deno.test("what was learned survives the engine", async () => {
  await using shop = await openShop();
  await teach(shop.client);
  await firstAttached(shop.client);
  await shop.client.close();
  assert.equal((await shop.home.run(["engine", "stop"])).code, 0);
  await using again = await connectClient(shop.home);
  // A run waits for the database, and so for what is in it.
  const report = { id: "report", tool: "shop:get_report", arguments: { filter: "x" } };
  assert.match(textOf(await again.call("run_workflow", { tasks: [report] })), /"completed"/);
  const before = (await shop.calls()).length;
  const { customer } = await firstAttached(again);
  assert.ok(customer.length > 0 && (await shop.calls()).length - before < 24, "without being taught once more");
});

for (
  const [why, setup] of Object.entries({
    "where the configuration says so": { config: { policy: { speculate: { enabled: false } } } },
    "of tools that a rule asks about": {
      config: {
        policy: { rules: [{ name: "ask", match: "shop:get_order", when: 'by == "speculation"', then: "approve" }] },
      },
    },
    "of tools that reach out into the world": { args: ["--open"] },
  })
) {
  Deno.test(`nothing is read ahead ${why}`, async () => {
    await using shop = await openShop(setup);
    await teach(shop.client);
    for (let n = 0; n < 12; n++) assert.deepEqual(attachedTo(await list(shop.client, `new${n}`)), []);
    assert.ok(!(await shop.calls()).some((line) => line.includes("W-new")));
    const open = await shop.home.run(["approve", "--list"]);
    assert.doesNotMatch(open.stdout, /get_order/, "no person is asked about what nobody asked for");
  });
}
