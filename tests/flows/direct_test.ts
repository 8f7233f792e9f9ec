// Direct mode: a client sees the tools of all servers themselves, as if it were connected to each.
import assert from "node:assert/strict";
import { connectClient, type Era, type Message, textOf, type ToolResult } from "../fixtures/client.ts";
import { createTestHome, testServer, until, withPreset } from "../fixtures/gateway.ts";

const DEFINITION = {
  name: "read",
  title: "Read it",
  description: "Reads something",
  inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
  outputSchema: { type: "object", properties: { ok: { type: "boolean" } } },
  annotations: { readOnlyHint: true },
  icons: [{ src: "data:image/png;base64,aGk=" }],
  _meta: { "example.com/kept": 1 },
};

for (const era of ["legacy", "modern"] satisfies Era[]) {
  Deno.test(`a ${era} client in direct mode sees every tool whole, in the order of the configuration`, async () => {
    await using home = await createTestHome();
    const list = `${home.dir}/tools.json`;
    await Deno.writeTextFile(list, JSON.stringify([DEFINITION, { ...DEFINITION, name: "x".repeat(80) }]));
    const servers = { b: testServer("listed", list), kit: testServer("kit"), a: testServer("listed", list) };
    const { stringify } = await import("yaml");
    const config = withPreset({ servers, expose: { tools: "direct" }, policy: { deny: ["kit:crash"] } });
    await Deno.writeTextFile(`${home.dir}/config.yaml`, stringify(config));
    await using client = await connectClient(home, { era });
    const listed = async () => ((await client.request("tools/list")).result as { tools: Message[] }).tools;
    const tools = await listed();
    assert.deepEqual(tools[0], { ...DEFINITION, name: "b__read" });
    const names = tools.map(({ name }) => String(name));
    assert.match(names[1]!, /^b__x+_[0-9a-f]{10}$/);
    assert.ok(names.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name)));
    assert.equal(names.at(-2), "a__read");
    assert.ok(!names.includes("kit__crash"), "what policy denies is not shown");
    assert.deepEqual((await listed()).map(({ name }) => name), names);

    const call = async (name: string, args: Message = {}) =>
      (await client.request("tools/call", { name, arguments: args })).result as ToolResult;
    assert.equal(textOf(await call("kit__echo", { text: "hi" })), "kit: hi");
    assert.match(textOf(await call("kit__crash")), /policy\.deny/);
    assert.match(textOf(await call("kit__ecko")), /There is no tool "kit__ecko"\nNearest: kit__echo/);
    const refused = await client.request("tools/call", { name: "kit__refuse", arguments: {} });
    assert.deepEqual(refused.error, { code: -32603, message: "no such thing" }, "the server's own error");
    assert.equal(textOf(await call("kit__big", { characters: 2_000_000 })).length, 2_000_000, "nothing is put aside");

    if (era === "modern") {
      const params = { notifications: { toolsListChanged: true } };
      void client.request("subscriptions/listen", params, "listening").catch(() => {});
      await until(
        "the list is watched",
        () => client.others.some(({ method }) => method === "notifications/subscriptions/acknowledged"),
      );
    }
    const news = () => client.others.filter(({ method }) => method === "notifications/tools/list_changed").length;
    const before = news();
    await call("kit__grow");
    await until("the news", () => news() > before);
    assert.ok((await listed()).some(({ name }) => name === "kit__grown"));
    assert.equal(textOf(await call("kit__grown")), "grown");
  });
}

Deno.test("a single server can stand there under its own names; two cannot", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit", "--offers") },
    expose: { tools: "direct", prefix: "none" },
  });
  await using client = await connectClient(home);
  const { tools } = (await client.request("tools/list")).result as { tools: Message[] };
  assert.ok(tools.some(({ name }) => name === "echo"));
  const { result } = await client.request("tools/call", { name: "echo", arguments: { text: "plain" } });
  assert.equal(textOf(result as ToolResult), "kit: plain");
  const { resources } = (await client.request("resources/list")).result as { resources: Message[] };
  assert.deepEqual(resources.map(({ uri }) => uri), ["note://one"]);

  await using two = await createTestHome({
    servers: { a: testServer("kit"), b: testServer("kit") },
    expose: { tools: "direct", prefix: "none" },
  });
  const { code, stderr } = await two.run(["tools"]);
  assert.equal(code, 1);
  assert.match(stderr, /expose\.prefix: none is for a single server.*\n.*Enabled are a, b/);
});
