// Where a human must decide, nobody else can: not the agent, not an edited journal, not an old word.
import assert from "node:assert/strict";
import { openDatabase } from "../../src/db/pglite/open.ts";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, sleep, testServer, until } from "../fixtures/gateway.ts";
import { shareTestHome } from "../fixtures/shared_home.ts";
import { atTerminal } from "../fixtures/terminal.ts";
import { crash, linesOf, read, refused, resume, run, statuses, task, toldId } from "../fixtures/workflow.ts";

const CONFIG = {
  servers: { kit: testServer("kit") },
  policy: { approve: ["kit:append"], effects: { "kit:echo": "read" } },
};
const acting = (file: string) => [
  task("name", "kit:echo", { text: "x" }),
  task("acts", "kit:append", { file, line: "$OUTPUT[name]" }),
  task("other", "kit:echo", { text: "free" }),
];

Deno.test("an agent cannot approve for its human, and can refuse nothing for them either", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const paused = await run(client, acting(file));
  assert.deepEqual([paused.status, paused.pending?.reason, paused.pending?.for], ["paused", "approval", "human"]);
  assert.deepEqual(paused.pending?.call, { tool: "kit:append", arguments: { file, line: "kit: x" } });
  assert.match(paused.pending!.why, /policy\.approve has "kit:append"/);
  assert.equal(statuses(paused).other, "success", "what needs nobody went on");
  for (const action of ["approve", "reject"]) {
    const text = await refused(client.call("resume_workflow", { workflow_id: paused.workflow_id, action }));
    assert.match(text, new RegExp(`Only a human .*\n.*agentcards approve ${paused.workflow_id}`));
  }
  assert.equal((await resume(client, paused.workflow_id, "continue")).pending?.reason, "approval");
  const sneaky = await resume(client, paused.workflow_id, "inject", {
    tasks: [task("again", "kit:append", { file, line: "y" })],
  });
  assert.equal(sneaky.pending?.reason, "approval");
  // A direct call cannot slip through either.
  const direct = await refused(client.use("kit:append", { file, line: "$OUTPUT[z]" }));
  assert.match(direct, /needs a human's approval[^]*agentcards approve ap_/);
  assert.deepEqual(await linesOf(file), []);
  assert.equal((await resume(client, paused.workflow_id, "abort")).status, "aborted");
  assert.match((await home.run(["approve", paused.workflow_id])).stderr, /terminal/);
});

Deno.test("a human says yes or no in the client, in both eras of the protocol", async () => {
  await using home = await shareTestHome(CONFIG);
  const file = `${home.dir}/oracle`;
  await using old = await connectClient(home, { capabilities: { elicitation: {} } });
  for (const [content, status] of [[{ allow: true }, "success"], [{ allow: false }, "error"]] as const) {
    const seen = old.others.length;
    const running = run(old, acting(file));
    await until("it asks", () => old.others.slice(seen).some(({ method }) => method === "elicitation/create"));
    const question = old.others.slice(seen).find(({ method }) => method === "elicitation/create")!;
    const { message } = question.params as { message: string };
    assert.match(message, /Allow kit:append\?.*policy\.approve has "kit:append"[\s\S]*"line": "kit: x"/);
    assert.ok(message.length < 4_000);
    await old.send({ id: question.id, result: { action: "accept", content } });
    assert.equal(statuses(await running).acts, status);
  }
  assert.deepEqual(await linesOf(file), ["begin kit: x", "end kit: x"]);

  await using modern = await connectClient(home, { era: "modern", capabilities: { elicitation: {} } });
  const asked = await modern.call("run_workflow", { tasks: acting(file) });
  assert.equal(asked.resultType, "input_required");
  const answer = await modern.request("tools/call", {
    name: "run_workflow",
    arguments: { tasks: acting(file) },
    requestState: asked.requestState,
    inputResponses: { question: { action: "accept", content: { allow: true } } },
  });
  const done = read((answer as { result: Parameters<typeof read>[0] }).result);
  assert.deepEqual([done.status, statuses(done).acts], ["completed", "success"]);
  assert.equal((await linesOf(file)).length, 4);

  // A client that says it can ask and then does not leaves the run waiting for a terminal.
  await using silent = await connectClient(home, { capabilities: { elicitation: {} } });
  const seen = silent.others.length;
  const running = run(silent, acting(file));
  await until("it asks", () => silent.others.slice(seen).some(({ method }) => method === "elicitation/create"));
  const question = silent.others.slice(seen).find(({ method }) => method === "elicitation/create")!;
  await silent.send({ id: question.id, error: { code: -32601, message: "no" } });
  assert.equal((await running).pending?.reason, "approval");
});

Deno.test("dag-020: an approval is for what was shown; arguments edited in the store ask anew", async () => {
  await using home = await createTestHome(CONFIG);
  const file = `${home.dir}/oracle`;
  const client = await connectClient(home);
  const paused = await run(client, acting(file));
  await client.close();
  await crash(home);
  const db = await openDatabase(`${home.dir}/data`);
  await db.query(
    "update workflow_event set payload = replace(payload, '$OUTPUT[name]', 'edited') where kind = 'planned'",
  );
  await db.close();
  const [shown] = JSON.parse((await home.run(["approvals", "--json"])).stdout) as {
    hash: string;
    arguments: { line: string };
  }[];
  assert.equal(shown?.arguments.line, "kit: x");
  const approve = async (hash: string) => {
    const { askEngine } = await import("../../src/control/client.ts");
    const { locateHome } = await import("../../src/config/home.ts");
    const { PROGRAM } = await import("../fixtures/gateway.ts");
    return await askEngine(
      { home: locateHome(home.env), cwd: home.dir, env: home.env, program: PROGRAM },
      { method: "decide", params: { workflow_id: paused.workflow_id, action: "approve", hash } },
    );
  };
  const again = await approve(shown!.hash);
  assert.deepEqual(
    [again.status, (again.pending?.call as { arguments: { line: string } } | undefined)?.arguments.line],
    ["paused", "edited"],
  );
  assert.deepEqual(await linesOf(file), [], "nothing was done on a word that was meant for something else");
  await assert.rejects(approve(shown!.hash), /has changed since it was shown/);
  const [anew] = JSON.parse((await home.run(["approvals", "--json"])).stdout) as { hash: string }[];
  assert.equal((await approve(anew!.hash)).status, "completed");
  assert.deepEqual(await linesOf(file), ["begin edited", "end edited"]);
  await assert.rejects(approve(anew!.hash), /is over/);
});

Deno.test("what is shown is what is allowed: an edited row, a long argument, a dismissed question", async () => {
  await using home = await createTestHome(CONFIG);
  const file = `${home.dir}/oracle`;
  const client = await connectClient(home);
  const paused = await run(client, acting(file));
  await client.close();
  await crash(home);
  const db = await openDatabase(`${home.dir}/data`);
  await db.query("update workflow_event set payload = replace(payload, 'kit: x', 'harmless') where kind = 'paused'");
  await db.close();
  assert.deepEqual(
    JSON.parse((await home.run(["approvals", "--json"])).stdout),
    [],
    "an edited row is not shown as the truth",
  );

  await using able = await connectClient(home, { capabilities: { elicitation: {} } });
  const seen = able.others.length;
  const padded = [task("acts", "kit:append", { line: "p".repeat(20_000), file })];
  const running = run(able, padded);
  await until("it asks", () => able.others.slice(seen).some(({ method }) => method === "elicitation/create"));
  const question = able.others.slice(seen).find(({ method }) => method === "elicitation/create")!;
  const { message } = question.params as { message: string };
  assert.ok(message.includes(file) && message.length < 4_000, message.slice(0, 300));
  assert.match(message, /characters are not shown/);
  await able.send({ id: question.id, result: { action: "cancel" } });
  assert.equal((await running).pending?.reason, "approval", "a dismissed question is no no");
  assert.ok(paused.workflow_id);
});

Deno.test("when the one who was asked leaves, the others do not wait for ever", async () => {
  await using home = await shareTestHome(CONFIG);
  const file = `${home.dir}/oracle`;
  const able = await connectClient(home, { capabilities: { elicitation: {} } });
  await using mute = await connectClient(home);
  const call = able.call("run_workflow", { tasks: acting(file) }, { progressToken: 1 });
  call.catch(() => {});
  await until("it asks", () => able.others.some(({ method }) => method === "elicitation/create"));
  const id = await toldId(able);
  const waiting = resume(mute, id, "continue");
  await sleep(200);
  await able.close();
  assert.equal((await waiting).pending?.reason, "approval");
});

Deno.test("an approval is for the tool as it was defined", async () => {
  await using home = await createTestHome();
  const list = `${home.dir}/tools.json`;
  const define = (destructiveHint: boolean) => {
    const tool = { name: "act", inputSchema: { type: "object" }, annotations: { destructiveHint } };
    return Deno.writeTextFile(list, JSON.stringify([tool]));
  };
  await define(false);
  const { stringify } = await import("yaml");
  const config = { servers: { odd: testServer("listed", list) }, policy: { approve: ["odd:*"] } };
  await Deno.writeTextFile(`${home.dir}/config.yaml`, stringify(config));
  await using client = await connectClient(home);
  const paused = await run(client, [task("a", "odd:act"), task("b", "odd:act")]);
  const shown = async () =>
    JSON.parse((await home.run(["approvals", "--json"])).stdout)[0] as { hash: string; task: string };
  const { hash } = await shown();
  await define(true);
  await home.run(["index", "odd"]);
  await atTerminal(home, ["review", "odd"], { answers: [[/Accept this of odd\?/, "y"]] });
  const again = await resume(client, paused.workflow_id, "continue");
  assert.equal(again.pending?.task, "a");
  assert.notEqual((await shown()).hash, hash, "the old word would not count");
});

Deno.test("every call that needs it is asked for on its own, and status says who waits", async () => {
  await using home = await createTestHome(CONFIG);
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const paused = await run(client, [1, 2].map((n) => task(`t${n}`, "kit:append", { file, line: `${n}` })));
  assert.equal(paused.pending?.task, "t1");
  assert.match((await home.run(["status"])).stdout, /workflows 0 running, 1 waiting \(1 for your approval/);
  assert.equal(textOf(await client.use("kit:echo", { text: "others work" })), "kit: others work");
});

Deno.test("what is denied for one entry is denied for every entry of the same program, on every path", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit"), "kit-cursor": { ...testServer("kit"), env: { ACCOUNT: "other" } } },
    policy: { deny: ["kit:append", "=kit:echo"] },
  });
  await using client = await connectClient(home);
  const args = { file: `${home.dir}/oracle`, line: "x" };
  const denied = /kit-cursor:append may not be called: policy\.deny has \\?"kit:append/;
  assert.match(textOf(await client.use("kit-cursor:append", args)), denied);
  assert.match(
    textOf(await client.call("run_workflow", { tasks: [{ id: "a", tool: "kit-cursor:append", arguments: args }] })),
    denied,
  );
  const code = `return await tools["kit-cursor:append"](context)`;
  assert.match(textOf(await client.call("execute_code", { code, context: args })), denied);
  assert.match(textOf(await client.use("kit:echo", { text: "x" })), /may not be called/);
  assert.equal(textOf(await client.use("kit-cursor:echo", { text: "x" })), "kit: x", "= is for one entry only");
  assert.equal(await Deno.stat(args.file).catch(() => undefined), undefined);
});
