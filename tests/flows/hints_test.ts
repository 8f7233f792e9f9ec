// What an agent gets wrong comes back with what would be right.
import assert from "node:assert/strict";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, npmServer, testServer, until } from "../fixtures/gateway.ts";
import { shareTestHome } from "../fixtures/shared_home.ts";
import { linesOf, read, refused, run, task } from "../fixtures/workflow.ts";

const CONFIG = { servers: { kit: testServer("kit", "--files"), "second-kit": testServer("kit", "--name=second") } };

const execute = async (client: RawClient, code: string, more: Record<string, unknown> = {}) =>
  JSON.parse(textOf(await client.call("execute_code", { code, ...more })));

Deno.test("wrong arguments come back with what is wrong and the tool's signature; right errors as they are", async () => {
  await using home = await createTestHome({
    servers: { ...CONFIG.servers, files: testServer("listed", "/nowhere.json") },
  });
  await using client = await connectClient(home);
  await client.use("kit:echo", { text: "known" });
  const wrong = await client.use("kit:refuse", {});
  assert.equal(textOf(wrong), "kit:refuse failed: no such thing (code -32603)", "its arguments are not to blame");
  const missing = await client.use("kit:read_file", { times: 2 });
  assert.equal(missing.isError, true);
  assert.match(
    textOf(missing),
    /arguments\.file is missing\. Signature: kit:read_file\(file: string, times\?: number\)/,
  );
  const planned = await refused(client.call("run_workflow", { tasks: [task("a", "kit:add", { a: 1, c: 2 })] }));
  assert.match(planned, /task a: arguments\.b is missing\. Signature: kit:add\(a: number, b: number\)/);
  const unchanged = await client.use("kit:fail", {});
  assert.deepEqual(unchanged.content, [{ type: "text", text: "it did not work" }]);
});

Deno.test("JSON given as text and numbers given as text are read as what was meant", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  await client.use("kit:echo", { text: "known" });
  const sum = async (input: Record<string, unknown>) =>
    (await client.call("call_tool", { tool: "kit:add", ...input })).structuredContent;
  assert.deepEqual(await sum({ arguments: '{"a": 1, "b": 2}' }), { sum: 3 });
  assert.deepEqual(await sum({ arguments: { a: "1", b: "2.5" } }), { sum: 3.5 });
  const echoed = await client.use("kit:echo", { text: '{"a": 1}' });
  assert.equal(textOf(echoed), 'kit: {"a": 1}', "where a text is wanted a text stays");
  const answer = read(
    await client.call("run_workflow", {
      tasks: JSON.stringify([{ id: "a", tool: "kit:add", arguments: '{"a": "4", "b": 5}' }]),
      options: '{"timeout_ms": "20000"}',
    }),
  );
  assert.deepEqual([answer.status, answer.results], ["completed", { a: { sum: 9 } }]);
  assert.match(textOf(await client.call("search_tools", { query: "add numbers", limit: "1" })), /kit:add/);
});

Deno.test("JSON given as text is read for optional parameters and inside others too, by a call and in a workflow", async () => {
  const optional = (schema: object) => ({ anyOf: [schema, { type: "null" }] });
  const tool = {
    name: "mirror",
    description: "Gives its arguments back",
    inputSchema: {
      type: "object",
      properties: {
        names: optional({ type: "array", items: { type: "string" } }),
        count: optional({ type: "integer" }),
        opts: { type: ["object", "null"] },
        nodes: { type: "array", items: { $ref: "#/$defs/Node" } },
        text: optional({ type: "string" }),
      },
      $defs: { Node: { type: "object", properties: { tags: { type: "array" } }, required: ["tags"] } },
    },
  };
  await using home = await createTestHome((dir) => ({ servers: { odd: testServer("listed", `${dir}/list.json`) } }));
  await Deno.writeTextFile(`${home.dir}/list.json`, JSON.stringify([tool]));
  await using client = await connectClient(home);
  await client.use("odd:mirror");
  const given = { names: '["x"]', count: "3", opts: '{"a": 1}', nodes: '[{"tags": "[1]"}]', text: "[1]" };
  const meant = { names: ["x"], count: 3, opts: { a: 1 }, nodes: [{ tags: [1] }], text: "[1]" };
  assert.deepEqual(JSON.parse(textOf(await client.use("odd:mirror", given))), meant);
  const flow = await run(client, [task("a", "odd:mirror", given)]);
  assert.deepEqual([flow.status, flow.results.a], ["completed", meant]);
});

Deno.test("a task of a wrong form is answered with the keys of a task and an example of the right form", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const answer = (tasks: unknown[]) => refused(client.call("run_workflow", { tasks }));
  const tool = await answer([{ id: "a", tool: "kit:echo", args: { text: "x" }, after: ["b"] }]);
  assert.match(tool, /args is not a key of a task; did you mean arguments\?, after is .*; did you mean depends_on\?/);
  assert.match(
    tool,
    /A tool task has id, depends_on, .*tool, arguments, until; for example \{"id": "a", "tool": "server:tool"/,
  );
  const code = await answer([{ id: "a", type: "code_execution", script: "return 1" }]);
  assert.match(code, /A code task has .*code, context.*; for example \{"id": "sum", "type": "code_execution"/);
  assert.deepEqual((await run(client, [{ id: "a", code: "return 1" }])).results, { a: 1 }, "what has code is code");
});

Deno.test("code that fails says what there is instead, and what it had done before", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  await client.use("kit:echo", { text: "known" });
  const net = (await execute(client, 'return await fetch("http://127.0.0.1:9999/")')).error;
  assert.doesNotMatch(JSON.stringify(net), /--allow/);
  assert.match(net.hint, /no network.*Call a tool of a server instead/);
  const unknown = (await execute(client, "return await filesystem.read({})")).error;
  assert.match(unknown.message, /filesystem is not defined/);
  assert.match(unknown.hint, /Servers are the variables kit, second_kit; also tools\["server:tool"\]\(args\), context/);
  for (const name of ["secondkit", "secondKit", "second_Kit"]) {
    assert.match((await execute(client, `return await ${name}.echo({})`)).error.hint, /^Did you mean second_kit\?/);
  }
  assert.match((await execute(client, "return await kitt.echo({})")).error.hint, /^Did you mean kit\?/);
  const settled = await execute(client, "return await Promise.allSettled([kit.fail({}), kit.echo({ text: 'x' })])");
  assert.deepEqual(settled.result[0].reason, { name: "ToolError", message: "it did not work", tool: "kit:fail" });
  assert.equal(
    (await execute(client, "const a = await kit.add({ a: 1, b: 2 })")).hint,
    "The result is undefined: end the code with `return VALUE`, and read a field of a call as `(await server.tool(args)).field`.",
  );
  assert.equal((await execute(client, "return null")).hint, undefined);
  assert.equal((await execute(client, "```ts\nreturn 7\n```")).result, 7);
  const file = `${home.dir}/oracle`;
  const half = await execute(
    client,
    `for (const line of ["1", "2"]) await kit.append({ file: context.file, line });\nthrow new Error("half-way")`,
    { context: { file } },
  );
  assert.equal(half.acted, "It had acted before: kit:append (2 times).");
  assert.equal((await linesOf(file)).length, 4);
  const fenced = await run(client, [{ id: "a", type: "code_execution", code: "```\nreturn nope.x()\n```" }]);
  assert.match(fenced.tasks[0]!.error!, /nope is not defined Servers are the variables kit/);
});

Deno.test("what the sandbox refuses names no flag of its runtime, also where code catches it, and what there is instead", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const refusals = ["await fetch('http://127.0.0.1:9999')", "await Deno.readTextFile('/x')", "Deno.env.get('HOME')"];
  for (const call of refusals) {
    const caught = await execute(
      client,
      `try { ${call} } catch (e) { console.log(e); console.log(e.message); return [e.message, e.name, String(e.stack)] }`,
    );
    assert.match(caught.result[0], /^Requires \w+ access to ".*", which code in the sandbox does not have$/, call);
    assert.equal(caught.result[1], "NotCapable");
    const settled = await execute(client, `return await Promise.allSettled([(async () => { ${call} })()])`);
    const { error } = await execute(client, call);
    assert.match(error.hint, /Call a tool of a server instead/, call);
    assert.doesNotMatch(JSON.stringify([caught, settled, error]), /--allow/, call);
  }
  const imports = ["npm:lodash", "jsr:@std/path", "https://example.com/x.ts", "lodash"];
  const ways = [
    (name: string) => `import x from "${name}"; return 1`,
    (name: string) => `return await import("${name}")`,
  ];
  for (const code of imports.flatMap((name) => ways.map((way) => way(name)))) {
    const { error } = await execute(client, code);
    assert.doesNotMatch(error.message, /--(no|allow)-/, code);
    assert.match(error.hint, /can import node: modules only/, `${code}: ${error.message}`);
  }
  assert.equal((await execute(client, 'import { sep } from "node:path"; return sep')).result, "/");
});

Deno.test("code that failed names the effects that happened or may have, none that its server refused", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  await client.use("kit:echo", { text: "known" });
  const context = { file: `${home.dir}/oracle` };
  for (const tool of ["fail", "refuse"]) {
    assert.equal((await execute(client, `await kit.${tool}({})`)).acted, undefined);
  }
  const append = "await kit.append({ file: context.file, line: 'x' });";
  const half = await execute(client, `${append} await kit.fail({}).catch(() => {}); await kit.refuse({})`, { context });
  assert.equal(half.acted, "It had acted before: kit:append.");
  const cutOff = await execute(client, "await kit.append({ file: context.file, line: 'y', ms: 60_000 })", {
    context,
    options: { timeout_ms: 2_000 },
  });
  assert.deepEqual([cutOff.error.type, cutOff.acted], [
    "TimeoutError",
    "It may have acted, no answer came: kit:append.",
  ]);
});

Deno.test("code that returned nothing says so, whatever words stand in it, also as a task", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const hint =
    "The result is undefined: end the code with `return VALUE`, and read a field of a call as `(await server.tool(args)).field`.";
  for (
    const code of [
      "const ids = [1, 2].map((x) => { return x + 1 });",
      "await kit.echo({ text: 'x' }) // to return later",
      "return () => 1",
    ]
  ) {
    const answer = await execute(client, code);
    assert.deepEqual([answer.result, answer.hint], [null, hint], code);
  }
  for (const code of ["return null", "const a = null; return a", "return [undefined]"]) {
    assert.equal((await execute(client, code)).hint, undefined, code);
  }
  const flow = await run(client, [{ id: "none", code: "const x = 1;" }, { id: "null", code: "return null" }]);
  assert.deepEqual(flow.tasks.map(({ id, note }) => [id, note]), [["none", hint], ["null", undefined]]);
  assert.deepEqual([flow.status, flow.results], ["completed", { none: null, null: null }]);
});

Deno.test("a failed run of code is explained by its types; without typecheck none keeps it from running", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  await client.use("kit:echo", { text: "known" });
  const loose = await execute(
    client,
    "const s: number = 'no number' as any; return await kit.echo({ text: 5 as any })",
  );
  assert.equal(loose.result, "kit: 5");
  const untyped = await execute(client, "const s: string = 5; return s");
  assert.equal(untyped.result, 5, "types that do not fit do not stop code");
  const failed = await execute(client, "const r = await kit.read_file({ path: '/x' });\nreturn r");
  assert.equal(failed.error.type, "ToolError");
  assert.match(JSON.stringify(failed.diagnostics), /'path' does not exist in type/);
  assert.equal(failed.diagnostics[0].line, 1);
  const unexplained = await execute(client, "throw new Error('x')");
  assert.equal(unexplained.diagnostics, undefined);
});

Deno.test("a handle that came from a workflow or from code says how it is read; inside code a result is whole", async () => {
  await using home = await createTestHome({ ...CONFIG, limits: { answer_tokens: 500 } });
  await using client = await connectClient(home);
  const flow = await run(client, [task("rows", "kit:rows", { count: 3_000 })]);
  const stored = flow.results.rows as { handle: string; read: string };
  assert.match(stored.read, new RegExp(`call_tool agentcards:read_result \\{"handle":"${stored.handle}"`));
  const made = await execute(client, "return Array.from({ length: 3000 }, (_, id) => ({ id }))");
  assert.match(made.result.read, /call_tool agentcards:read_result/);
  const { handle } = made.result;
  const part = await client.use("agentcards:read_result", { handle });
  const shown = JSON.parse(part.content[0]!.text!) as unknown[];
  assert.equal(part.content[1]!.text, `(items 0 to ${shown.length - 1} of 3000; "offset": ${shown.length} reads on)`);
  const next = await client.use("agentcards:read_result", { handle, offset: shown.length, limit: 1 });
  assert.deepEqual(JSON.parse(next.content[0]!.text!), [{ id: shown.length }]);
  const inside = await execute(
    client,
    `const whole = await results.get(context.handle);
     const read = await tools["agentcards:read_result"]({ handle: context.handle });
     return [whole.length, read.length, read[2999].id]`,
    { context: { handle } },
  );
  assert.deepEqual(inside.result, [3000, 3000, 2999]);
  const task_ = await run(client, [
    task("all", "agentcards:read_result", { handle }),
    { id: "count", type: "code_execution", code: "return deps.all.output.length", depends_on: ["all"] },
  ]);
  assert.deepEqual(task_.results, { count: 3000 });
});

Deno.test("a question that nobody can answer shows its fields", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const asked = JSON.parse(textOf(await client.use("kit:ask")));
  assert.equal(asked.pending.why, "it asks: [server kit] What is your name? (fields: name: string)");
  const flow = await run(client, [task("ask", "kit:ask")]);
  assert.equal(flow.pending?.why, "it asks: [server kit] What is your name? (fields: name: string)");
  const code = await client.call("execute_code", { code: "return await kit.ask({})" });
  assert.match(textOf(code), /What is your name\? \(fields: name: string\)/);
});

Deno.test("status tells how it is now: a variable that was set, a program that was deleted", async () => {
  const script = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.copyFile(new URL("../servers/shop.ts", import.meta.url), script);
  await Deno.copyFile(new URL("../servers/wire.ts", import.meta.url), script.replace(/[^/]+$/, "wire.ts"));
  const copied = testServer("shop");
  await using home = await createTestHome({
    servers: {
      kit: { ...testServer("kit"), env: { NEEDED: "${NEEDED_HERE}" } },
      own: { ...copied, args: [...copied.args.slice(0, -1), script] },
      gone: { command: "no-such-program-anywhere" },
    },
  });
  const server = async (name: string, env: Record<string, string> = {}) => {
    const { stdout } = await home.run(["status", "--json"], { env });
    return JSON.parse(stdout).servers.find((one: { name: string }) => one.name === name);
  };
  await using client = await connectClient(home);
  assert.match(textOf(await client.use("kit:echo", { text: "x" })), /NEEDED_HERE not set/);
  assert.match((await server("kit")).error, /NEEDED_HERE not set/);
  assert.equal((await server("kit", { NEEDED_HERE: "now" })).error, null, "it is set now, so nothing is wrong");
  assert.match((await server("gone")).error, /there is no program "no-such-program-anywhere"/);
  await client.use("own:list_orders", { customer: "a" });
  await until("it is known", async () => (await server("own")).tools === 5);
  assert.equal((await server("own")).error, null);
  await Deno.remove(script);
  assert.match((await server("own")).error, /there is no file .*\.ts/);
  assert.match((await home.run(["status"])).stdout, /own +(running|failing)/);
});

Deno.test("a script in the folder of its server and a program that may not be executed are told, until they are mended", async () => {
  const { command, args } = testServer("shop");
  const flags = args.slice(0, -1);
  await using home = await createTestHome((dir) => ({
    servers: {
      rel: { command, args: [...flags, "shop.ts"], cwd: `${dir}/shop` },
      bin: { command: `${dir}/shop/start` },
    },
  }));
  const folder = `${home.dir}/shop`;
  const [script, program] = [`${folder}/shop.ts`, `${folder}/start`];
  await Deno.mkdir(folder);
  for (const name of ["shop.ts", "wire.ts"]) {
    await Deno.copyFile(new URL(`../servers/${name}`, import.meta.url), `${folder}/${name}`);
  }
  await Deno.writeTextFile(program, `#!/bin/sh\nexec ${command} ${flags.join(" ")} ${script}\n`);
  await Deno.chmod(program, 0o755);
  const status = async () => {
    const { servers } = JSON.parse((await home.run(["status", "--json"])).stdout);
    return servers.map(({ state, error }: { state: string; error: string | null }) => [state, error]);
  };
  const use = async () => {
    await using client = await connectClient(home);
    for (const server of ["rel", "bin"]) await client.use(`${server}:list_orders`, { customer: "a" });
  };
  await use();
  const ready = [["known", null], ["known", null]];
  await until("both are known and stopped", async () => JSON.stringify(await status()) === JSON.stringify(ready));
  await Deno.rename(script, `${folder}/moved.ts`);
  await Deno.chmod(program, 0o644);
  const broken = [
    ["known", `Cannot start server "rel": there is no file ${script}`],
    ["known", `Cannot start server "bin": "${program}" is not executable`],
  ];
  assert.deepEqual(await status(), broken);
  await use();
  assert.deepEqual((await status()).map(([, error]: string[]) => error), broken.map(([, error]) => error));
  await Deno.rename(`${folder}/moved.ts`, script);
  await Deno.chmod(program, 0o755);
  await until("both are ready again", async () => JSON.stringify(await status()) === JSON.stringify(ready));
});

Deno.test("an argument that is only spelt otherwise is a mistake, and nothing is sent", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  await client.use("kit:echo", { text: "known" });
  const file = `${home.dir}/oracle`;
  const args = { file, LINE: "x", line: "y", MS: 1 };
  const direct = await client.use("kit:append", args);
  assert.match(
    textOf(direct),
    /kit:append was not called: arguments\.MS is not known; did you mean ms\?\nSignature: kit:append/,
  );
  const flow = await refused(client.call("run_workflow", { tasks: [task("a", "kit:append", args)] }));
  assert.match(flow, /arguments\.MS is not known; did you mean ms\?/);
  assert.deepEqual(await linesOf(file), []);
  assert.equal(
    textOf(await client.use("kit:echo", { text: "x", extra: 1 })),
    "kit: x",
    "what is merely unknown passes",
  );
});

Deno.test("what references put into arguments fits its tool, or nothing is sent and the reason is told", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const answer = await run(client, [
    task("sum", "kit:add", { a: 1, b: 2 }),
    task("text", "kit:echo", { text: "$OUTPUT[sum]" }),
    task("number", "kit:add", { a: "$OUTPUT[sum]", b: 1 }),
  ]);
  assert.equal(answer.results.text, 'kit: {"sum":3}', "an object is written out where a text is wanted");
  const error = answer.tasks.find(({ id }) => id === "number")?.error ?? "";
  assert.match(error, /arguments\.a must be number\. Nothing was sent\. Signature: kit:add\(a: number, b: number\)/);
});

Deno.test("code waits for the tasks it speaks of, and is told where it takes arguments for code", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const sum = task("sum", "kit:add", { a: 1, b: 2 });
  const spoken = await run(client, [sum, { id: "twice", type: "code", code: "return deps.sum.output.sum * 2" }]);
  assert.deepEqual(spoken.results, { twice: 6 });
  assert.match(
    await refused(client.call("run_workflow", { tasks: [sum, { id: "x", code: "return '$OUTPUT[sum]'" }] })),
    /task x: \$OUTPUT is for arguments; code reads deps\.sum\.output/,
  );
  const stored = await execute(client, "return { text: 'x'.repeat(100000), list: [1, 2] }");
  const { handle } = stored.result;
  const part = await execute(client, "return await results.get(context.handle, 'list[1]')", { context: { handle } });
  assert.equal(part.result, 2, "a path may be a text");
});

Deno.test("our own tools are found like any other", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  for (const input of [{ query: "agentcards:read_result" }, { server: "agentcards" }, { query: "read_result" }]) {
    const text = textOf(await client.call("search_tools", input));
    assert.match(text, /^agentcards:read_result\(handle: string, path\?: string/, JSON.stringify(input));
  }
  assert.match(textOf(await client.call("search_tools", { query: "help" })), /^Topics: /);
  const three = textOf(await client.call("search_tools", { server: "kit", limit: 3 }));
  assert.match(three, /^\(\d+ more of kit, by name: /m);
  assert.equal(three.split("\n").filter((line) => /^kit:/.test(line)).length, 3);
});

Deno.test("a server that a command started and stopped again is ready, not failing", async () => {
  await using home = await createTestHome({ servers: { everything: npmServer("everything") } }, { hasModel: true });
  for (let round = 0; round < 4; round++) {
    const { code, stderr } = await home.run(["call", "everything:get-sum", '{"a": 1, "b": 2}']);
    assert.equal(code, 0, stderr);
    const status = JSON.parse((await home.run(["status", "--json"])).stdout);
    assert.deepEqual([status.ok, status.servers[0].error], [true, null], JSON.stringify(status.problems));
  }
});
