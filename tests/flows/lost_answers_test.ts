// An engine that dies in the middle of a request: its client waits for one answer, and gets the right one.
import assert from "node:assert/strict";
import { connectClient, kept, type Message, type RawClient, textOf, type ToolResult } from "../fixtures/client.ts";
import { createTestHome, isAlive, sleep, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { type Answer, crash, linesOf, read, run, statuses, task } from "../fixtures/workflow.ts";

const SERVERS = { kit: testServer("kit") };
const EFFECTS = { "kit:wait": "read", "kit:echo": "read" } as const;
const SLOW_MS = 1_500;

/** Calls one of our tools; the request is answered once, whichever engines come and go. */
function begin(client: RawClient, name: string, args: Message, meta: Message = {}): Promise<ToolResult> {
  return kept(client.call(name, args, meta));
}

/** Two effects with a read between them, in which the engine can be killed. */
const threeSteps = (file: string) => [
  task("first", "kit:append", { file, line: "first" }),
  task("reads", "kit:wait", { ms: SLOW_MS }, { depends_on: ["first"] }),
  task("last", "kit:append", { file, line: "last after $OUTPUT[reads]" }),
];
const ONCE = ["begin first", "end first", "begin last after waited", "end last after waited"];

const has = (file: string, line: string) => async () => (await linesOf(file)).includes(line);

/** Waits until an effect has happened, and a moment longer, in which that is written down. */
async function hasActed(file: string, line: string): Promise<void> {
  await until(`"${line}"`, has(file, `end ${line}`));
  await sleep(300);
}

/** Starts the server and the sandbox, so that what comes next comes quickly. */
const warm = (client: RawClient) => client.use("kit:echo", { text: "up" });

/** Lets the engine hear nothing any more, and kills it once the client has sent something. */
async function deafen(home: TestHome, send: () => Promise<ToolResult>): Promise<{ answer: Promise<ToolResult> }> {
  const pid = (await home.enginePid())!;
  Deno.kill(pid, "SIGSTOP");
  const answer = send();
  await sleep(300);
  Deno.kill(pid, "SIGKILL");
  await until("the engine is gone", () => !isAlive(pid));
  return { answer };
}

async function workflow(answer: Promise<ToolResult>): Promise<Answer> {
  const result = await answer;
  assert.ok(!result.isError, textOf(result));
  return read(result);
}

Deno.test("run_workflow: its one request gets the run's own end, and each effect happens once", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: EFFECTS } });
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  await warm(client);
  const running = begin(client, "run_workflow", { tasks: threeSteps(file) }, { progressToken: "mine" });
  await hasActed(file, "first");
  await crash(home);
  const told = client.others.length;
  const done = await workflow(running);
  assert.deepEqual(statuses(done), { first: "success", reads: "success", last: "success" });
  assert.equal(done.results.last, "appended last after waited");
  assert.deepEqual(await linesOf(file), ONCE);
  const progress = client.others.slice(told).filter(({ method }) => method === "notifications/progress");
  assert.ok(progress.length > 0, "progress goes on");
  assert.ok(progress.every(({ params }) => (params as Message).progressToken === "mine"));
  assert.ok(JSON.stringify(progress).includes(done.workflow_id), "it is the same run");

  await crash(home);
  const { runs } = read(await client.call("resume_workflow", { action: "status" })) as unknown as { runs: Message[] };
  assert.deepEqual(runs.map(({ workflow_id, session }) => [workflow_id, session]), [[done.workflow_id, undefined]]);
});

Deno.test("a doubt and a pause are answers, too, and a decision about them is made once", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: EFFECTS } });
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  await warm(client);
  const doubtful = begin(client, "run_workflow", {
    tasks: [
      task("acts", "kit:append", { file, line: "acts", ms: 60_000 }),
      task("reads", "kit:wait", { ms: 2 * SLOW_MS }, { depends_on: ["acts"] }),
      task("last", "kit:append", { file, line: "last after $OUTPUT[reads]" }),
    ],
  });
  await until("it acts", has(file, "begin acts"));
  await crash(home);
  const doubt = await workflow(doubtful);
  assert.deepEqual([doubt.status, doubt.pending?.reason, doubt.pending?.task], ["paused", "in_doubt", "acts"]);
  assert.deepEqual(await linesOf(file), ["begin acts"]);
  const resolution = { workflow_id: doubt.workflow_id, action: "resolve", task: "acts", outcome: "done" };
  const resolving = begin(client, "resume_workflow", resolution, { progressToken: "r" });
  await until("it goes on", () => JSON.stringify(client.others).includes('"progressToken":"r"'));
  await sleep(300);
  await crash(home);
  assert.equal((await workflow(resolving)).status, "completed");
  assert.deepEqual(await linesOf(file), ["begin acts", ...ONCE.slice(2)]);

  const pausing = begin(client, "run_workflow", {
    tasks: threeSteps(`${file}2`),
    options: { pause_after: ["reads"] },
  });
  await hasActed(`${file}2`, "first");
  await crash(home);
  const paused = await workflow(pausing);
  assert.deepEqual([paused.status, paused.pending?.reason], ["paused", "after"]);
  assert.deepEqual(await linesOf(`${file}2`), ONCE.slice(0, 2));

  const going = begin(client, "resume_workflow", { workflow_id: paused.workflow_id, action: "continue" });
  assert.equal((await workflow(going)).status, "completed");
  assert.deepEqual(await linesOf(`${file}2`), ONCE);
});

for (const era of ["legacy", "modern"] as const) {
  Deno.test(`a ${era} request that the engine had not begun is carried out by the next one, once`, async () => {
    await using home = await createTestHome({ servers: SERVERS, policy: { effects: EFFECTS } });
    await using client = await connectClient(home, { era });
    const file = `${home.dir}/oracle`;
    await warm(client);
    const { answer: running } = await deafen(
      home,
      () => begin(client, "run_workflow", { tasks: threeSteps(file), options: { pause_after: ["reads"] } }),
    );
    const paused = await workflow(running);
    assert.equal(paused.pending?.reason, "after");
    const { answer: going } = await deafen(
      home,
      () => begin(client, "resume_workflow", { workflow_id: paused.workflow_id, action: "continue" }),
    );
    assert.equal((await workflow(going)).status, "completed");
    assert.deepEqual(await linesOf(file), ONCE);
  });
}

Deno.test("two engines die under one request, and under the decision that follows", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: EFFECTS } });
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  await warm(client);
  const tasks = [
    task("before", "kit:append", { file, line: "before" }),
    task("wait", "kit:wait", { ms: 2 * SLOW_MS }, { depends_on: ["before"] }),
    task("first", "kit:append", { file, line: "first" }, { depends_on: ["wait"] }),
    ...threeSteps(file).slice(1),
  ];
  const running = begin(client, "run_workflow", { tasks, options: { pause_after: ["wait"] } });
  await hasActed(file, "before");
  await crash(home);
  await until("the next engine", async () => isAlive((await home.enginePid())!));
  await sleep(500);
  await crash(home);
  const paused = await workflow(running);
  assert.equal(paused.pending?.reason, "after");
  const going = begin(client, "resume_workflow", { workflow_id: paused.workflow_id, action: "continue" });
  await hasActed(file, "first");
  await crash(home);
  const done = await workflow(going);
  assert.deepEqual([done.status, done.workflow_id], ["completed", paused.workflow_id]);
  assert.deepEqual(await linesOf(file), ["begin before", "end before", ...ONCE]);
});

Deno.test("agentcards engine restart is not noticed by those who wait", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: { ...EFFECTS, "kit:ask": "read" } } });
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  await warm(client);
  const running = begin(client, "run_workflow", { tasks: threeSteps(file) });
  const waiting = client.use("kit:wait", { ms: SLOW_MS });
  await hasActed(file, "first");
  const before = await home.enginePid();
  assert.equal((await home.run(["engine", "restart"])).code, 0);
  assert.equal((await workflow(running)).status, "completed");
  assert.equal(textOf(await waiting), "waited");
  assert.notEqual(await home.enginePid(), before);
  assert.deepEqual(await linesOf(file), ONCE);
});

Deno.test("what reads is done again; what may have acted is told, named and not repeated", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit", "--offers"), reader: testServer("kit", "--name=reader") },
    policy: { effects: { ...EFFECTS, "reader:append": "read" } },
  });
  await using client = await connectClient(home);
  const [acted, readAgain] = [`${home.dir}/acted`, `${home.dir}/read`];
  await warm(client);
  await client.use("reader:echo", { text: "up" });
  const acting = client.use("kit:append", { file: acted, line: "x", ms: 20_000 });
  const reading = client.use("reader:append", { file: readAgain, line: "x", ms: SLOW_MS });
  const coding = begin(client, "execute_code", {
    code: `await kit.append({ file: "${acted}", line: "code", ms: 20_000 })`,
  });
  await until("all are under way", async () => (await linesOf(acted)).length + (await linesOf(readAgain)).length === 3);
  await crash(home);
  assert.equal(textOf(await reading), "appended x");
  assert.deepEqual(await linesOf(readAgain), ["begin x", "begin x", "end x"]);
  const lost = await acting;
  assert.equal(lost.isError, true);
  assert.match(textOf(lost), /during this call of kit:append\. It may or may not have had an effect/);
  assert.match(textOf(lost), /tool that reads .*search_tools/);
  const code = await coding;
  assert.equal(code.isError, true);
  assert.match(textOf(code), /execute_code\. The tools that the code called may or may not have had an effect/);
  assert.deepEqual((await linesOf(acted)).toSorted(), ["begin code", "begin x"]);

  const { answer } = await deafen(home, async () => {
    const lists = ["tools/list", "resources/list", "prompts/list"].map((method) => client.request(method));
    const resource = client.request("resources/read", { uri: "agentcards://kit/note://one" });
    const found = client.call("search_tools", { query: "adds two numbers" });
    const answers = await Promise.all([...lists, resource]);
    for (const { result, error } of answers) assert.ok(result, JSON.stringify(error));
    return await found;
  });
  assert.match(textOf(await answer), /kit:add/);
});

Deno.test("a saved workflow that is called like a tool goes on like any other", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: EFFECTS } });
  await using client = await connectClient(home);
  const [first, second] = [`${home.dir}/first`, `${home.dir}/second`];
  const { workflow_id } = await run(client, threeSteps(first));
  const saving = ["workflow", "save", workflow_id, "steps", "--param", "file=first.file", "--param", "other=last.file"];
  const saved = await home.run(saving);
  assert.equal(saved.code, 0, saved.stderr);
  const calling = client.use("workflow:steps", { file: second, other: second });
  await hasActed(second, "first");
  await crash(home);
  assert.equal((await workflow(calling)).status, "completed");
  assert.deepEqual(await linesOf(second), ONCE);
});

Deno.test("a resource that an older client watches is watched in the next engine, one it gave up is not", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit", "--offers"), more: testServer("kit", "--offers", "--name=more") },
  });
  await home.run(["index"]);
  await using client = await connectClient(home);
  const [kit, more] = ["kit", "more"].map((server) => `agentcards://${server}/note://one`);
  for (const uri of [kit, more]) assert.ok((await client.request("resources/subscribe", { uri })).result);
  assert.ok((await client.request("resources/unsubscribe", { uri: more })).result);
  await crash(home);
  await until("kit knows", async () => textOf(await client.use("kit:touch")).includes("note://one"));
  const news = () => client.others.filter(({ method }) => method === "notifications/resources/updated");
  await until("the news", () => news().length > 0);
  assert.equal(textOf(await client.use("more:touch")), "");
  assert.ok(news().every(({ params }) => (params as Message).uri === kit));
  assert.ok(!client.others.some(({ broken }) => broken), "nobody sees the renewal");
});
