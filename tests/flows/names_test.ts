// A name means one tool, and policy holds for it under every name.
import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, testServer } from "../fixtures/gateway.ts";
import { read } from "../fixtures/workflow.ts";

const MEANT = "agentcards/tools";

Deno.test("poi-106: a bare name is taken only when every list is known and one server has it, on every path", async () => {
  await using home = await createTestHome((dir) => ({
    servers: { first: testServer("listed", `${dir}/tools.json`), kit: testServer("kit") },
  }));
  const tools = ["echo", "only_here"].map((name) => ({ name, description: name, inputSchema: { type: "object" } }));
  await Deno.writeTextFile(`${home.dir}/tools.json`, JSON.stringify(tools));
  await using client = await connectClient(home);
  assert.equal(textOf(await client.use("first:only_here")), "done");

  const paths = {
    call: () => client.use("echo", { text: "private" }),
    workflow: () => client.call("run_workflow", { tasks: [{ id: "a", tool: "echo", arguments: { text: "private" } }] }),
    code: () => client.call("execute_code", { code: 'return await tools["echo"]({ text: "private" })' }),
  };
  for (const [path, send] of Object.entries(paths)) {
    const text = textOf(await send());
    assert.match(text, /\\?"echo\\?" may be a tool of several servers: those of kit are not known yet/, path);
    assert.match(text, /Call it by its id: first:echo/, path);
  }
  assert.match(textOf(await client.use("only_here")), /Call it by its id: first:only_here/);

  await client.use("kit:echo", { text: "known now" });
  for (const [path, send] of Object.entries(paths)) {
    assert.match(textOf(await send()), /is a tool of several servers: first:echo, kit:echo/, path);
  }

  const direct = await client.use("only_here");
  assert.equal(textOf(direct), "done");
  assert.deepEqual(direct._meta?.[MEANT], { only_here: "first:only_here" });
  assert.equal((await client.use("first:only_here"))._meta?.[MEANT], undefined, "a whole id needs no word");
  const ran = await client.call("run_workflow", { tasks: [{ id: "a", tool: "only_here" }] });
  assert.deepEqual([read(ran).status, ran._meta?.[MEANT]], ["completed", { only_here: "first:only_here" }]);
  const code = await client.call("execute_code", { code: 'return await tools["only_here"]({})' });
  assert.deepEqual([code.isError, code._meta?.[MEANT]], [undefined, { only_here: "first:only_here" }]);
  const large = await client.use("rows", { count: 40_000 });
  assert.match(textOf(large), /stored as r_/);
  assert.deepEqual(large._meta?.[MEANT], { rows: "kit:rows" });
  assert.deepEqual((await client.use("picture", { bytes: 3_000_000 }))._meta?.[MEANT], { picture: "kit:picture" });
});

Deno.test("pol-108: what is denied of our own tools is denied on every path", async () => {
  const servers = { kit: testServer("kit") };
  await using home = await createTestHome({ servers, policy: { deny: ["agentcards:*"] } });
  await using client = await connectClient(home);
  const denied = /agentcards:read_result may not be called: policy\.deny has \\?"agentcards:\*/;
  const handle = { handle: "r_0000000000000000" };
  assert.match(textOf(await client.use("agentcards:read_result", handle)), denied);
  assert.match(
    textOf(
      await client.call("execute_code", {
        code: 'return await tools["agentcards:read_result"](context)',
        context: handle,
      }),
    ),
    denied,
  );
  const tasks = [{ id: "a", tool: "agentcards:read_result", arguments: handle }];
  assert.match(textOf(await client.call("run_workflow", { tasks })), denied);
  assert.equal(textOf(await client.use("kit:echo", { text: "x" })), "kit: x");

  await using without = await createTestHome({ servers, policy: { deny: ["agentcards:execute_code"] } });
  await using other = await connectClient(without);
  const noCode = /agentcards:execute_code may not be called: policy\.deny has/;
  assert.match(textOf(await other.call("execute_code", { code: "return 1" })), noCode);
  const coded = [{ id: "a", type: "code_execution", code: "return 1" }];
  assert.match(textOf(await other.call("run_workflow", { tasks: coded })), noCode);
  assert.match(textOf(await other.call("search_tools", { query: "echo" })), /kit:echo/);
});

Deno.test("policy.allow leaves nothing else of the servers it names, for tools and for addresses", async () => {
  await using home = await createTestHome({
    servers: { old: testServer("kit", "--offers", "--name=old"), kit: testServer("kit") },
    policy: { allow: ["old:echo", "old:note://by/docs/*"], approve: ["old:append"] },
  });
  await using client = await connectClient(home);
  assert.equal(textOf(await client.use("old:echo", { text: "x" })), "old: x");
  const refused = /old:add may not be called: policy\.allow names \\?"old\\?" and does not have it/;
  assert.match(textOf(await client.use("old:add", { a: 1, b: 2 })), refused);
  const tasks = [{ id: "a", tool: "old:add", arguments: { a: 1, b: 2 } }];
  assert.match(textOf(await client.call("run_workflow", { tasks })), refused);
  assert.match(textOf(await client.call("execute_code", { code: "return await old.add({ a: 1, b: 2 })" })), refused);
  assert.match(
    textOf(await client.use("old:append", { file: `${home.dir}/x`, line: "y" })),
    /old:append needs a human's approval \(policy\.approve has "old:append"\)/,
  );
  assert.match(
    textOf(await client.call("search_tools", { server: "old" })),
    /withheld by policy\.deny and policy\.allow/,
  );
  assert.match(textOf(await client.use("kit:add", { a: 1, b: 2 })), /3/, "another entry is not concerned");
  const answer = async (uri: string) =>
    JSON.stringify(await client.request("resources/read", { uri: `agentcards://old/${uri}` }));
  assert.match(await answer("note://by/docs/other"), /old says/);
  for (const uri of ["note://one", "note://by/docs/../one", "note://by/docs/%2e%2e/one", "note://by/docs/..%252fone"]) {
    assert.match(await answer(uri), /policy\.allow names/, uri);
  }
});
