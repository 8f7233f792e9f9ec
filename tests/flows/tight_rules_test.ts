// Rules that hold on every path: our own tools, stored results, effects, names in code, what the command line prints.
import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, endProcess, testServer, until } from "../fixtures/gateway.ts";
import { task } from "../fixtures/workflow.ts";

/** The handle in an answer. */
const handleIn = (text: string) => /r_[0-9a-f]{16}/.exec(text)![0];

Deno.test("pol-108: policy.deny agentcards:* holds in call_tool, workflows and code; stored results follow their tool", async () => {
  await using home = await createTestHome({ servers: { kit: testServer("kit"), other: testServer("voices") } });
  const [strict, own] = await Promise.all(["strict", "own"].map(async (name) => {
    await Deno.mkdir(`${home.dir}/${name}/.agentcards`, { recursive: true });
    const rules = name === "strict" ? ["kit:*"] : ["agentcards:*"];
    await Deno.writeTextFile(
      `${home.dir}/${name}/.agentcards/config.yaml`,
      `policy: { deny: ${JSON.stringify(rules)} }\n`,
    );
    return `${home.dir}/${name}`;
  }));
  await using free = await connectClient(home);
  const handles = [
    handleIn(textOf(await free.use("kit:big", { characters: 400_000 }))),
    // Read off the main thread.
    handleIn(textOf(await free.use("kit:big", { characters: 3_000_000 }))),
  ];
  const allowed = handleIn(textOf(await free.use("other:say", { size: 400_000 })));
  for (const cwd of [strict!, own!]) {
    await using client = await connectClient(home, { cwd });
    for (const handle of handles) {
      const called = await client.use("agentcards:read_result", { handle });
      assert.match(textOf(called), /may not be called/, cwd);
      assert.equal(called.isError, true);
      const code = (text: string) => client.call("execute_code", { code: text });
      assert.match(textOf(await code(`return await results.get("${handle}")`)), /may not be called/, cwd);
      assert.match(
        textOf(await code(`return await tools["agentcards:read_result"]({ handle: "${handle}" })`)),
        /may not be called/,
        cwd,
      );
      const refused = await client.call("run_workflow", { tasks: [task("a", "agentcards:read_result", { handle })] });
      assert.match(textOf(refused), /may not be called/, cwd);
    }
    const other = textOf(await client.use("agentcards:read_result", { handle: allowed }));
    assert.match(other, cwd === strict ? /structuredContent/ : /may not be called/);
  }
  assert.equal((await free.use("agentcards:read_result", { handle: handles[0], limit: 3 })).content[0]!.text, "xxx");
});

Deno.test("poi-103: a tool that acts is not said to read while the engine runs; stricter words count at once", async () => {
  await using home = await createTestHome((dir) => ({ servers: { s: testServer("listed", `${dir}/tools.json`) } }));
  const tool = (name: string, annotations?: Record<string, unknown>) => ({
    name,
    inputSchema: { type: "object" },
    ...annotations && { annotations },
  });
  const define = (...tools: unknown[]) => Deno.writeTextFile(`${home.dir}/tools.json`, JSON.stringify(tools));
  const effects = async () => {
    const { stdout } = await home.run(["tools", "s", "--json"]);
    const { tools } = JSON.parse(stdout) as { tools: { name: string; effect: string }[] };
    return Object.fromEntries(tools.map(({ name, effect }) => [name, effect]));
  };
  await define(tool("frobnicate"), tool("peek", { readOnlyHint: true }));
  await using client = await connectClient(home);
  await client.use("s:peek");
  assert.deepEqual(await effects(), { frobnicate: "effectful", peek: "read" });
  await define(tool("frobnicate", { readOnlyHint: true }), tool("peek", { destructiveHint: true }), tool("late"));
  await client.use("s:peek");
  await until("the new list", async () => "late" in await effects());
  assert.deepEqual(await effects(), { frobnicate: "effectful", late: "effectful" }, "what loosened is withheld");
  assert.match(textOf(await client.use("s:peek")), /s:peek is withheld/);
  assert.match(await home.log(), /tools_changed/);
  // The next engine holds the server to what was pinned, until a person accepts the change.
  await endProcess((await home.enginePid())!);
  assert.equal((await effects()).frobnicate, "effectful");
});

Deno.test("servers whose names would be the same in code, or hide a global, hide nothing and are told", async () => {
  const kit = (name: string) => testServer("kit", `--name=${name}`);
  await using home = await createTestHome({
    servers: { "a-b": kit("a-b"), a_b: kit("a_b"), JSON: kit("JSON"), Promise: kit("Promise"), fetch: kit("fetch") },
  });
  await using client = await connectClient(home);
  const code = async (text: string) => JSON.parse(textOf(await client.call("execute_code", { code: text })));
  const { result } = await code(`
    const said = [];
    for (const name of ["a-b", "a_b", "JSON", "Promise"]) said.push(await tools[name + ":echo"]({ text: "x" }));
    said.push(await fetch.echo({ text: "x" }));
    return [JSON.stringify(await Promise.all(said)), typeof a_b];
  `);
  assert.deepEqual(result, [
    JSON.stringify(["a-b", "a_b", "JSON", "Promise", "fetch"].map((name) => `${name}: x`)),
    "undefined",
  ]);
  const failed = await code("return await a_b.echo({ text: 'x' })");
  assert.match(failed.error.hint, /a-b, a_b, JSON, Promise/);
  assert.match(textOf(await client.call("search_tools", { query: "echo" })), /no variables.*a-b, a_b, JSON, Promise/);
});

Deno.test("--json prints nothing that a terminal hides or obeys, and reads back as it was", async () => {
  await using home = await createTestHome({ servers: { bad: testServer("voices") } });
  const { stdout } = await home.run(["call", "bad:say", "--json"]);
  assert.doesNotMatch(stdout, /[^\x20-\x7e\n]/);
  assert.equal(JSON.parse(stdout).content[0].text, "spoken\u{e0041}\u202e\u001b[8m\u200b");
  const tools = await home.run(["tools", "--json"]);
  assert.doesNotMatch(tools.stdout, /[\u007f-\u009f\u202a-\u202e\u{e0000}-\u{e007f}]/u);
});
