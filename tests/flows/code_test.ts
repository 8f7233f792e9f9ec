// The model's own TypeScript, through the front door.
import assert from "node:assert/strict";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { pathWithout } from "../fixtures/weaker_machine.ts";
import { createTestHome, isAlive, testServer, until } from "../fixtures/gateway.ts";

interface CodeAnswer {
  result?: unknown;
  error?: { type: string; message: string; line?: number };
  logs?: string[];
  state?: unknown;
  tools?: string[];
  cached?: boolean;
  diagnostics?: { line: number; column: number; message: string }[];
  calls: number;
  metrics: { ms: number; peak_mb: number };
}

async function execute(client: RawClient, code: string, more: Record<string, unknown> = {}): Promise<CodeAnswer> {
  const result = await client.call("execute_code", { code, ...more });
  const answer = JSON.parse(textOf(result)) as CodeAnswer;
  assert.equal(result.isError === true, answer.error !== undefined);
  return answer;
}

Deno.test("code calls tools in parallel, reduces what they say, and returns a line", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit"), "odd-name": testServer("kit", "--name=odd") },
  });
  await using client = await connectClient(home);
  const reduced = await execute(
    client,
    "const { rows } = await kit.rows({ count: 1000 }); return rows.filter((r) => r.id % 2).length",
  );
  assert.deepEqual([reduced.result, reduced.calls], [500, 1]);
  const began = performance.now();
  const parallel = await execute(
    client,
    "return await Promise.all([kit.wait({ ms: 300 }), kit.wait({ ms: 300 }), odd_name.echo({ text: context.who }), tools['odd-name:add']({ a: 1, b: 2 })])",
    { context: { who: "Ann" } },
  );
  assert.deepEqual(parallel.result, ["waited", "waited", "odd: Ann", { sum: 3 }]);
  assert.ok(performance.now() - began < 1_500, "they ran side by side");
  const failing = await execute(
    client,
    "try { await kit.fail() } catch (e) { console.log(e.name); return [e.message, e.tool] }",
  );
  assert.deepEqual([failing.result, failing.logs], [["it did not work", "kit:fail"], ["info: ToolError"]]);
  const wrong = await execute(client, "const a = 1;\nawait kit.nothing()");
  assert.deepEqual([wrong.error?.type, wrong.error?.line], ["ToolError", 2]);
  assert.match(wrong.error!.message, /There is no tool "kit:nothing"/);
  const large = await execute(client, "return 'x'.repeat(100_000)");
  const { handle } = large.result as { handle: string };
  assert.equal((await execute(client, `return (await results.get("${handle}")).length`)).result, 100_000);
  const big = await execute(client, "return (await kit.rows({ count: 30_000 })).rows.length");
  assert.equal(big.result, 30_000, "what is too large for an agent is not for code");
});

Deno.test("code gets images as bytes, and leaves something for later", async () => {
  await using home = await createTestHome({ servers: { kit: testServer("kit") } });
  await using client = await connectClient(home);
  const small = await execute(client, "const p = await kit.picture({ bytes: 4 }); return [p.mimeType, [...p], p]");
  assert.deepEqual(small.result, ["image/png", [0, 0, 0], "AAAA"]);
  const image = await execute(client, "return (await kit.picture({ bytes: 4_000_000 })).length");
  assert.equal(image.result, 3_000_000, "however large");
  const [inWorkflow] = [
    await client.call("run_workflow", {
      tasks: [{ id: "a", type: "code_execution", code: "return [(await kit.picture({ bytes: 4_000 })).length]" }],
    }),
  ];
  assert.deepEqual(JSON.parse(textOf(inWorkflow)).results.a, [3_000]);
  const left = await execute(client, "return { result: 1, state: { at: 2 } }");
  assert.deepEqual([left.result, left.state], [1, { at: 2 }]);
  const issue = await execute(client, "return { id: 1, state: { open: true } }");
  assert.deepEqual(issue.result, { id: 1, state: { open: true } }, "what only looks like it is a result");
});

Deno.test("code is held against the types of its tools before it runs, and its intent finds them", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit"), "odd-name": testServer("kit", "--name=odd") },
  });
  await using client = await connectClient(home);
  const typecheck = (code: string, more: Record<string, unknown> = {}) =>
    execute(client, code, { options: { typecheck: true }, ...more });
  const file = `${home.dir}/written`;
  const wrong = await typecheck(
    `await kit.write({ file: ${JSON.stringify(file)} });\nreturn await kit.add({ a: "1", b: 2 })`,
  );
  assert.deepEqual([wrong.error?.type, wrong.error?.line, wrong.calls], ["TypeError", 2, 0]);
  assert.match(wrong.diagnostics![0]!.message, /string.*number/);
  await assert.rejects(Deno.stat(file), "nothing ran");
  assert.match(
    (await typecheck("return await odd_name.ad({ a: 1, b: 2 })")).error!.message,
    /'ad' does not exist/,
  );
  assert.match((await typecheck("return await tools['kit:ad']({})")).error!.message, /kit:ad/);
  const right = await typecheck(
    "const { sum } = await kit.add({ a: 1, b: 2 }); return [sum + 1, await tools['odd-name:echo']({ text: `${sum}` })]",
  );
  assert.deepEqual(right.result, [4, "odd: 3"]);
  const picked = await execute(client, "return 1", { intent: "add two numbers" });
  assert.ok(picked.tools?.includes("kit:add"), JSON.stringify(picked));
  const failing = await execute(client, "throw new Error('x')", { options: { tools: ["kit:add"] } });
  assert.match(failing.tools![0]!, /kit:add\(.*a: number/);
  const unknown = await client.call("execute_code", { code: "return 1", options: { tools: ["kit:ad"] } });
  assert.match(textOf(unknown), /no tool "kit:ad".*kit:add/s);
  const types = textOf(await client.call("search_tools", { query: "add two numbers", server: "kit", detail: "types" }));
  assert.equal(types.match(/declare const kit/g)?.length, 1);
});

Deno.test("the same code is not run twice where its author says so, unless it called something", async () => {
  await using home = await createTestHome({ servers: { kit: testServer("kit") } });
  await using client = await connectClient(home);
  const options = { cache: true };
  const random = "return [context.a, Math.random()]";
  const first = await execute(client, random, { options, context: { a: 1 } });
  const again = await execute(client, random, { options, context: { a: 1 } });
  assert.deepEqual([first.cached, again.cached, again.result], [undefined, true, first.result]);
  assert.notDeepEqual((await execute(client, random, { options, context: { a: 2 } })).result, first.result);
  assert.notDeepEqual((await execute(client, random, { context: { a: 1 } })).result, first.result);
  const calling = "await kit.echo({ text: 'a' }); return Math.random()";
  const one = await execute(client, calling, { options });
  assert.notEqual((await execute(client, calling, { options })).result, one.result);
});

Deno.test("rules hold inside, too, and nothing but tools is to be had", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit") },
    policy: { deny: ["kit:write"], approve: ["kit:append"] },
  });
  await using client = await connectClient(home);
  const file = `${home.dir}/written`;
  const denied = await execute(client, `await kit.write({ file: ${JSON.stringify(file)} })`);
  assert.match(denied.error!.message, /policy\.deny has "kit:write"/);
  const guarded = await execute(client, `await kit.append({ file: ${JSON.stringify(file)}, line: "x" })`);
  assert.match(guarded.error!.message, /needs a human's approval/);
  await assert.rejects(Deno.stat(file));
  for (
    const code of [
      "return await Deno.readTextFile('/etc/passwd')",
      "return await (await fetch('http://127.0.0.1:1')).text()",
    ]
  ) {
    assert.ok((await execute(client, code)).error, code);
  }
  const late = await execute(client, "for (;;) {}", { options: { timeout_ms: 300 } });
  assert.equal(late.error?.type, "TimeoutError");
  assert.equal(textOf(await client.use("kit:echo", { text: "still here" })), "kit: still here");
  const input = await client.call("execute_code", { code: "", extra: 1 });
  assert.match(textOf(input), /extra is not known/);
});

Deno.test("cages go with their engine", async () => {
  await using home = await createTestHome({ servers: { kit: testServer("kit") } });
  await using client = await connectClient(home);
  assert.equal((await execute(client, "return 1")).result, 1);
  const cages = async () => {
    const output = await new Deno.Command("pgrep", { args: ["-f", "sandbox/runner.ts|/cage/runner.ts"] }).output();
    return new TextDecoder().decode(output.stdout).trim().split("\n").filter(Boolean).map(Number);
  };
  const engine = (await home.enginePid())!;
  const mine: number[] = [];
  await until("cages are ready", async () => {
    for (const pid of await cages()) if (await isBelow(pid, engine)) mine.push(pid);
    return mine.length > 0;
  });
  Deno.kill(engine, "SIGKILL");
  await until("they are gone", () => !mine.some(isAlive));
});

/** Whether a process comes from another. */
async function isBelow(pid: number, ancestor: number): Promise<boolean> {
  for (let at = pid; at > 1;) {
    const status = await Deno.readTextFile(`/proc/${at}/status`).catch(() => "");
    at = Number(/^PPid:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    if (at === ancestor) return true;
  }
  return false;
}

Deno.test("a machine that cannot build the cage that is asked for runs nothing, and says so", async () => {
  await using home = await createTestHome({ servers: { kit: testServer("kit") }, sandbox: { minimum_level: 2 } });
  const path = await pathWithout(["bwrap"], `${home.dir}/bin`);
  await using client = await connectClient(home, { env: { AGENTCARDS_SYSTEM_PATH: path } });
  const file = `${home.dir}/written`;
  const code = `return await kit.write({ file: ${JSON.stringify(file)} })`;
  const refused = await client.call("execute_code", { code });
  assert.equal(refused.isError, true);
  assert.match(textOf(refused), /minimum_level is 2, this machine offers [01]\n.*bubblewrap/);
  const run = await client.call("run_workflow", { tasks: [{ id: "a", type: "code_execution", code }] });
  assert.match(textOf(run), /minimum_level is 2/);
  await assert.rejects(Deno.stat(file));
  const status = await home.run(["status"]);
  assert.equal(status.code, 1);
  assert.match(status.stdout, /sandbox +level [01] \(.*\)/);
  assert.match(status.stdout, /✗ sandbox\.minimum_level is 2, this machine offers [01]/);
});
