import assert from "node:assert/strict";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { MODEL, startHub, WIDTH } from "../fixtures/hub.ts";

const object = (properties: Record<string, unknown> = {}) => ({ type: "object", properties });
const OFFICE = [
  {
    name: "schedule_meeting",
    description: "Puts an appointment into the calendar and invites people.",
    inputSchema: { ...object({ title: { type: "string" }, day: { type: "string" } }), required: ["title"] },
  },
  {
    name: "send_mail",
    description: "Delivers a letter electronically to one or more addresses.",
    inputSchema: object({
      to: { type: "array", items: { type: "string" } },
      priority: { enum: ["low", "high"], default: "low", description: "How urgent it is" },
    }),
  },
  {
    name: "archive",
    description: "Moves finished documents to the long term store.",
    inputSchema: object({ path: { type: "string" } }),
  },
  { name: "get_stock_quote", inputSchema: object({ ticker_symbol: { type: "string" } }) },
  { name: "x1", inputSchema: object({ invoice_number: {}, vat_rate: {} }) },
];
const GARDEN = [
  { name: "water_plants", description: "Opens the valve of the sprinkler for some minutes.", inputSchema: object() },
  { name: "office_light", description: "Switches the lamp in the shed.", inputSchema: object() },
];

/** A home with two servers whose tools are in files. */
async function searchHome(more: Record<string, unknown> = {}): Promise<TestHome & { list(name: string): string }> {
  const lists = await Deno.makeTempDir({ prefix: "ac-lists-" });
  const list = (name: string) => `${lists}/${name}.json`;
  await Deno.writeTextFile(list("office"), JSON.stringify(OFFICE));
  await Deno.writeTextFile(list("garden"), JSON.stringify(GARDEN));
  const servers = Object.fromEntries(["office", "garden"].map((name) => [name, testServer("listed", list(name))]));
  const home = await createTestHome({ servers, ...more }, { hasModel: true });
  return {
    ...home,
    list,
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]();
      await Deno.remove(lists, { recursive: true });
    },
  };
}

const find = async (client: RawClient, query: string, more: Record<string, unknown> = {}) =>
  textOf(await client.call("search_tools", { query, ...more }));
const ids = (answer: string) => answer.split("\n").flatMap((line) => /^[\w-]+:[\w-]+(?=\()/.exec(line)?.[0] ?? []);

/** Waits until every tool has its vector. */
async function learnt(home: TestHome): Promise<void> {
  const { code, stdout } = await home.run(["index", "--json"]);
  assert.equal(code, 0, stdout);
}

Deno.test("tools are found by what they mean, without a shared word", async () => {
  await using home = await searchHome();
  await using client = await connectClient(home);
  await learnt(home);
  assert.equal(
    ids(await find(client, "book a conversation with my colleagues on Tuesday"))[0],
    "office:schedule_meeting",
  );
  assert.equal(ids(await find(client, "email the customer"))[0], "office:send_mail");
  assert.equal(ids(await find(client, "give the flowers something to drink"))[0], "garden:water_plants");
});

Deno.test("tools without a description are found by their names and parameters", async () => {
  await using home = await searchHome();
  await using client = await connectClient(home);
  await learnt(home);
  assert.equal(ids(await find(client, "current share price of a listed company"))[0], "office:get_stock_quote");
  assert.equal(ids(await find(client, "vat rate of an invoice"))[0], "office:x1");
});

Deno.test("a tool that is named is in the answer, whatever else fits better", async () => {
  await using home = await searchHome();
  await using client = await connectClient(home);
  await learnt(home);
  for (
    const query of ["garden:office_light", "office_light", "Office Light", "please use office_light to do the thing"]
  ) {
    assert.equal(ids(await find(client, query))[0], "garden:office_light", query);
  }
  assert.equal(ids(await find(client, "use archive on the mail that schedules meetings"))[0], "office:archive");
  const mentioned = ids(await find(client, "send mail about the archive to the office", { limit: 2 }));
  assert.deepEqual(mentioned, ["office:send_mail", "office:archive"]);
});

Deno.test("the words of a server's name do not crowd out what its tools do", async () => {
  await using home = await searchHome();
  await using client = await connectClient(home);
  await learnt(home);
  assert.equal(ids(await find(client, "switch the lamp in the office"))[0], "garden:office_light");
  assert.equal(ids(await find(client, "in the office, water the plants"))[0], "garden:water_plants");
});

Deno.test("a request that no tool fits well gets the nearest, marked as weak, with their signatures", async () => {
  await using home = await searchHome();
  await using client = await connectClient(home);
  await learnt(home);
  for (const query of ["order a pizza", "translate a poem into Finnish", "track a parcel", "tune a guitar"]) {
    const answer = await find(client, query);
    assert.match(answer, /^No tool fits well\. These weak matches come nearest/, query);
    assert.equal(ids(answer).length, 5, "each with its signature");
    assert.match(answer, /^\(2 weaker matches are not shown; "limit": 7 shows them\)$/m);
    const all = await find(client, query, { limit: 7 });
    assert.deepEqual([ids(all).length, /not shown/.test(all)], [7, false]);
    assert.equal(ids(await find(client, query, { limit: 3 })).length, 3);
  }
  const { stdout } = await home.run(["search", "order a pizza", "--json"]);
  const { tools, weak } = JSON.parse(stdout);
  assert.deepEqual([tools, weak.length], [[], 7]);
  const typed = (await home.run(["search", "order a pizza"])).stdout;
  assert.match(typed, /^No tool fits well\. The nearest:\nscore/);
  assert.equal(typed.match(/^ *\d\.\d\d +\w+:/gm)?.length, 7);
});

Deno.test("servers, their tools and a server's name can be looked for; help explains the rest", async () => {
  await using home = await searchHome({ policy: { deny: ["office:x1"] } });
  await using client = await connectClient(home);
  await learnt(home);
  const look = async (input: Record<string, unknown>) => textOf(await client.call("search_tools", input));
  const servers = await look({});
  assert.match(servers, /^office \(4 tools\): .*\[schedule_meeting, send_mail, archive, get_stock_quote\]$/m);
  assert.match(servers, /^garden \(2 tools\): /m);
  for (
    const input of [{ server: "garden" }, { query: "garden" }, { query: "Garden tools" }, { query: "garden server" }]
  ) {
    assert.deepEqual(ids(await look(input)), ["garden:water_plants", "garden:office_light"], JSON.stringify(input));
  }
  const office = await look({ server: "office" });
  assert.deepEqual(ids(office).length, 4);
  assert.match(office, /\(withheld by policy\.deny: office:x1\)/);
  assert.match(await look({ query: "agentcards:help" }), /^Topics: workflows, code, handles, pauses/);
  assert.match(await look({ query: "agentcards:help code" }), /A call returns the tool's structured content/);
  assert.match(await look({ query: "agentcards:help workflow" }), /Code task: .*"type": "code_execution"/);
  assert.match(textOf(await client.use("agentcards:help", { topic: "handles" })), /agentcards:read_result/);
  const initialized = await client.request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "again", version: "1" },
  }).catch(() => undefined);
  assert.ok(initialized, "it answers");
  await using other = await connectClient(home, { handshake: false });
  const hello = await other.request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  });
  assert.match((hello.result as { instructions: string }).instructions, /servers \(office, garden\)/);
});

Deno.test("tools of a server that a request names are in the answer, however many of others fit better", async () => {
  await using home = await searchHome();
  const what = ["call", "visit", "lesson", "review", "interview", "trip", "repair", "delivery", "party", "payment"];
  const more = what.map((name) => ({
    name: `schedule_${name}`,
    description: `Schedules a ${name} at a time of your choice.`,
    inputSchema: object(),
  }));
  await Deno.writeTextFile(home.list("office"), JSON.stringify([...OFFICE, ...more]));
  await using client = await connectClient(home);
  await learnt(home);
  const found = ids(await find(client, "schedule something in the garden"));
  assert.equal(found.length, 8);
  assert.deepEqual(found.filter((id) => id.startsWith("garden:")).sort(), [
    "garden:office_light",
    "garden:water_plants",
  ]);
  const elsewhere = ids(await find(client, "schedule something"));
  assert.deepEqual(elsewhere.filter((id) => id.startsWith("garden:")), [], "unless it is named, others fit better");
});

Deno.test("deprecated tools come last, unless they are named", async () => {
  const list = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(
    list,
    JSON.stringify([
      {
        name: "read_file",
        description: "Read a file as text. DEPRECATED: Use read_text instead.",
        inputSchema: object(),
      },
      { name: "read_text", description: "Read a file as text.", inputSchema: object() },
      { name: "list_old", description: "Lists deprecated packages", inputSchema: object() },
    ]),
  );
  await using home = await createTestHome({ servers: { files: testServer("listed", list) } }, { hasModel: true });
  await using client = await connectClient(home);
  await learnt(home);
  const found = ids(await find(client, "read a file as text"));
  assert.deepEqual([found[0], found.at(-1)], ["files:read_text", "files:read_file"]);
  assert.equal(ids(await find(client, "read_file"))[0], "files:read_file");
  await Deno.remove(list);
});

/** The first search that did not come before the database was open. */
async function findOnceOpen(client: RawClient, query: string): Promise<string> {
  let found = "";
  await until("the database is open", async () => {
    found = await find(client, query);
    return !found.includes("the database is still being opened");
  }, 30_000);
  return found;
}

Deno.test("after a restart every vector that was learned is there at once", async () => {
  const list = await Deno.makeTempFile({ suffix: ".json" });
  // Keys in an order that a database which sorts them would not keep.
  const keys = ["zeta_value", "a", "middle_name", "bb", "k"];
  const tools = Array.from({ length: 30 }, (_, i) => ({
    name: `tool_${i}`,
    description: `Does the thing number ${i} with some words about it`,
    inputSchema: object(Object.fromEntries(keys.map((key, at) => [`${key}_${(i * 7 + at) % 5}`, { type: "string" }]))),
  }));
  await Deno.writeTextFile(list, JSON.stringify(tools));
  await using home = await createTestHome({ servers: { many: testServer("listed", list) } }, { hasModel: true });
  {
    await using client = await connectClient(home);
    await learnt(home);
    assert.match(await find(client, "tool_3", { limit: 1 }), /^many:tool_3\(zeta_value_1\?: string, a_2\?: string/);
  }
  assert.equal((await home.run(["engine", "stop"])).code, 0);
  await using client = await connectClient(home);
  const first = await findOnceOpen(client, "the thing with some words");
  assert.doesNotMatch(first, /searched by words only/);
  assert.match(
    await find(client, "tool_3", { limit: 1 }),
    /^many:tool_3\(zeta_value_1\?: string, a_2\?: string/,
    "parameters keep their order",
  );
  await Deno.remove(list);
});

Deno.test("detail gives signatures, declarations or schemas, and a narrow budget says what it left out", async () => {
  await using home = await searchHome();
  await using client = await connectClient(home);
  await learnt(home);
  const signature = await find(client, "send_mail", { limit: 1 });
  assert.match(
    signature,
    /^office:send_mail\(to\?: string\[\], priority\?: "low"\|"high" = "low"\) — Delivers a letter/,
  );
  const types = await find(client, "send_mail", { limit: 1, detail: "types" });
  assert.match(types, /declare const office: \{\n {2}\/\*\* Delivers.*\*\/\n {2}send_mail\(input\?: \{/);
  assert.match(types, /\/\*\* How urgent it is Default: "low"\. \*\/\n {4}priority\?: "low" \| "high";/);
  const schema = JSON.parse((await find(client, "send_mail", { limit: 1, detail: "schema" })).split("\n")[0]!);
  assert.deepEqual(schema.inputSchema, OFFICE[1]!.inputSchema);
});

Deno.test("a tool that changes is found anew, one that is removed disappears, and both survive a restart", async () => {
  await using home = await searchHome();
  {
    await using client = await connectClient(home);
    await learnt(home);
    assert.deepEqual(ids(await find(client, "give the flowers something to drink")).slice(0, 1), [
      "garden:water_plants",
    ]);
    const changed = [{ name: "mow", description: "Cuts the grass of the lawn.", inputSchema: object() }, GARDEN[1]];
    await Deno.writeTextFile(home.list("garden"), JSON.stringify(changed));
    await client.use("garden:office_light");
    await until(
      "the new tool is found by meaning",
      async () => ids(await find(client, "trim the turf"))[0] === "garden:mow",
      10_000,
    );
    assert.ok(!ids(await find(client, "give the flowers something to drink")).includes("garden:water_plants"));
  }
  assert.equal((await home.run(["engine", "stop"])).code, 0);
  await using client = await connectClient(home);
  assert.equal(ids(await findOnceOpen(client, "trim the turf"))[0], "garden:mow");
  const status = JSON.parse((await home.run(["status", "--json"])).stdout);
  assert.deepEqual([status.search.indexed, status.search.tools, status.search.dimension], [7, 7, 384]);
  assert.equal(status.search.model, "all-MiniLM-L6-v2");
});

Deno.test("without a usable model search goes by words and says so", async () => {
  await using home = await searchHome({ embeddings: { model: "nobody/nothing", hub: "http://127.0.0.1:1" } });
  await using client = await connectClient(home);
  const answer = await find(client, "sprinkler valve");
  assert.equal(ids(answer)[0], "garden:water_plants");
  await until(
    "the reason is told",
    async () =>
      /searched by words only: Cannot get the model nobody\/nothing/.test(await find(client, "sprinkler valve")),
    15_000,
  );
  assert.match(await find(client, "zebra"), /^No tool (fits well|was found)/);
  const { code, stdout } = await home.run(["status"]);
  assert.equal(code, 1);
  assert.match(stdout, /Search goes by words only: Cannot get the model nobody\/nothing from http:\/\/127\.0\.0\.1:1/);
});

Deno.test("profile: minimal loads no model, and nothing counts as wrong", async () => {
  await using home = await createTestHome({ servers: { shop: testServer("shop") }, profile: "minimal" });
  await using client = await connectClient(home);
  assert.match(textOf(await client.call("search_tools", { query: "look up an order" })), /shop:get_order/);
  const { code, stdout } = await home.run(["status"]);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /search +by words and names only \(profile: minimal\)/);
});

Deno.test("another model takes over when its index is complete; until then the old one serves", async () => {
  await using hub = await startHub();
  await using home = await searchHome();
  // A folder of its own: the models of all test homes are shared otherwise.
  await Deno.remove(`${home.dir}/models`);
  {
    await using client = await connectClient(home);
    await learnt(home);
    assert.equal(ids(await find(client, "give the flowers something to drink"))[0], "garden:water_plants");
  }
  const config = await Deno.readTextFile(`${home.dir}/config.yaml`);
  const use = (url: string) =>
    Deno.writeTextFile(`${home.dir}/config.yaml`, `${config}embeddings: { model: ${MODEL}, hub: "${url}" }\n`);
  await use("http://127.0.0.1:1");
  await using client = await connectClient(home);
  assert.equal(
    ids(await find(client, "give the flowers something to drink"))[0],
    "garden:water_plants",
    "the old model serves",
  );
  const waiting = await home.run(["index"]);
  assert.equal(waiting.code, 1);
  assert.match(waiting.stdout, /Cannot get the model tests\/tiny-bert/);
  assert.match((await home.run(["status"])).stdout, /Search stays with all-MiniLM-L6-v2: Cannot get the model/);
  await use(hub.url);
  const { code, stdout } = await home.run(["index", "--json"]);
  assert.equal(code, 0, stdout);
  const status = JSON.parse((await home.run(["status", "--json"])).stdout).search;
  assert.deepEqual([status.model, status.dimension, status.indexed, status.next], [MODEL, WIDTH, 7, null]);
  assert.match(await find(client, "water_plants"), /garden:water_plants/);
});

Deno.test("a copy with many words does not stand before the tool that was used, and either names the other", async () => {
  await using home = await createTestHome((dir) => ({
    servers: { weather: testServer("listed", `${dir}/weather`), gmail: testServer("listed", `${dir}/gmail`) },
  }), { hasModel: true });
  const define = (server: string, name: string, description: string) =>
    Deno.writeTextFile(
      `${home.dir}/${server}`,
      JSON.stringify([{ name, description, inputSchema: { type: "object" } }]),
    );
  await define("gmail", "send_email", "Sends a message through the user's account");
  await define("weather", "email_send", "Send email, send an email, email send, sends e-mail message mail. ".repeat(5));
  await using client = await connectClient(home);
  const found = async (limit: number) => textOf(await client.call("search_tools", { query: "send an email", limit }));
  const both = await found(8);
  assert.ok(both.includes("gmail:send_email") && both.includes("weather:email_send"), both);
  await client.use("gmail:send_email");
  const after = await found(8);
  assert.ok(after.indexOf("gmail:send_email") < after.indexOf("weather:email_send"), after);
  assert.match(
    await found(1),
    /same name as (gmail:send_email: also weather:email_send|weather:email_send: also gmail)/,
  );
});

Deno.test("a tool that was called after a search comes first for the same request in other words, also after a restart", async () => {
  await using home = await searchHome();
  const [asked, again] = ["something for the flower beds and the lamp", "the flower beds, and the lamp there"];
  {
    await using client = await connectClient(home);
    await learnt(home);
    const [first, ...others] = ids(await find(client, asked));
    assert.ok(first !== "garden:office_light" || others.length > 0);
    const used = others.find((id) => id.startsWith("office:"))!;
    await client.use(used, {});
    await until("it is first", async () => ids(await find(client, again))[0] === used);
  }
  await home.run(["engine", "stop"]);
  await using client = await connectClient(home);
  await until("it is first again", async () => ids(await find(client, again))[0]!.startsWith("office:"));
});
