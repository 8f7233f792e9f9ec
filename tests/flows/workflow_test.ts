// Whole stories: a client over stdio, an engine, real servers, a real database.
import assert from "node:assert/strict";
import { instructionsFor } from "../../src/serve/protocol.ts";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, sleep, testServer, until, withPreset } from "../fixtures/gateway.ts";
import { shareTestHome } from "../fixtures/shared_home.ts";
import { linesOf, refused, resume, run, statuses, task, toldId, untilStatus } from "../fixtures/workflow.ts";

const READS = {
  "kit:wait": "read",
  "kit:rows": "read",
  "kit:big": "read",
  "kit:echo": "read",
  "two:echo": "read",
} as const;
const SERVERS = { kit: testServer("kit"), two: testServer("kit", "--name=two") };

Deno.test("tasks run in parallel on several servers, and what one gives goes where the next wants it", async () => {
  await using home = await shareTestHome({ servers: SERVERS, policy: { effects: READS } });
  await using client = await connectClient(home);
  const done = await run(
    client,
    [
      task("sum", "kit:add", { a: 40, b: 2 }),
      task("rows", "kit:rows", { count: 3 }),
      task("text", "two:echo", { text: "sum $OUTPUT[sum].sum, rows $OUTPUT[rows].rows[1]" }),
      task("whole", "kit:add", { a: "$OUTPUT[sum].sum", b: 0 }),
      task("deep", "kit:mirror", {
        list: ["$OUTPUT[sum]", { in: "$OUTPUT[rows].rows[0].name" }],
        raw: "$$OUTPUT[x]",
      }),
    ],
    {},
    { progressToken: "p" },
  );
  assert.equal(done.status, "completed");
  assert.deepEqual(done.results, {
    text: `two: sum 42, rows {"id":1,"name":"row 1","note":"${"n".repeat(40)}"}`,
    whole: { sum: 42 },
    deep: { list: [{ sum: 42 }, { in: "row 0" }], raw: "$OUTPUT[x]" },
  });
  assert.ok(done.stats.tokens_kept > 40, "the rows never reached the client");
  const told = client.others.filter(({ method }) => method === "notifications/progress")
    .map(({ params }) => params as { progress: number; total: number; message: string });
  assert.match(told[0]!.message, new RegExp(`^${done.workflow_id}: 5 tasks`));
  assert.deepEqual(told.map(({ progress }) => progress), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(told[5]!.total, 5);

  const slow = await run(client, [
    ...["a", "b", "c"].map((id) => task(id, "kit:wait", { ms: 200 })),
    task("end", "two:echo", { text: "end" }, { depends_on: ["a", "b", "c"] }),
  ], { return: ["a", "end"] });
  assert.deepEqual(Object.keys(slow.results), ["a", "end"]);
  assert.ok(slow.stats.wall_ms < 550 && slow.stats.sequential_ms >= 600, JSON.stringify(slow.stats));
  assert.ok(slow.stats.critical_path_ms <= slow.stats.wall_ms);

  const { tools } = (await client.request("tools/list")).result as { tools: Record<string, unknown>[] };
  const described = String(tools.find(({ name }) => name === "run_workflow")?.description);
  assert.match(described, /\{id, tool, arguments, depends_on\?\} or \{id, type: "code_execution", code: "/);
  const many = Array.from({ length: 20 }, (_, i) => `server-with-a-name-${i}`);
  const size = tools.reduce(
    (sum, { name, description, inputSchema }) => sum + JSON.stringify({ name, description, inputSchema }).length,
    instructionsFor(many).length,
  );
  assert.ok(size / 4 <= 700, `${size / 4} tokens for ${tools.length} tools and the instructions`);
});

Deno.test("what fails is told and does not stop the others: errors, refusals, timeouts, a server that dies", async () => {
  await using home = await createTestHome({
    servers: SERVERS,
    policy: { effects: { ...READS, "two:crash": "read" }, deny: ["kit:write"] },
  });
  await using client = await connectClient(home);
  const mixed = await run(client, [
    task("isError", "kit:fail"),
    task("protocol", "kit:refuse"),
    task("after", "kit:echo", { text: "$OUTPUT[isError]" }),
    task("path", "kit:echo", { text: "$OUTPUT[sum].some" }),
    task("sum", "kit:add", { a: 1, b: 1 }),
    task("late", "kit:wait", { ms: 5_000, steps: 100 }, { timeout_ms: 150, retries: 0 }),
    task("afterLate", "kit:echo", { text: "x" }, { depends_on: ["late"] }),
    task("dies", "two:crash", {}, { retries: 0 }),
    task("good", "kit:wait", { ms: 300 }),
  ]);
  assert.equal(mixed.status, "partial");
  assert.deepEqual(statuses(mixed), {
    isError: "error",
    protocol: "error",
    after: "skipped",
    path: "error",
    sum: "success",
    late: "error",
    afterLate: "skipped",
    dies: "error",
    good: "success",
  });
  const errors = Object.fromEntries(mixed.tasks.map(({ id, error }) => [id, error ?? ""]));
  assert.equal(errors.isError, "it did not work");
  assert.match(errors.protocol!, /no such thing \(code -32603\)/);
  assert.match(errors.path!, /\$OUTPUT\[sum\]\.some leads nowhere: \$OUTPUT\[sum\] has sum/);
  assert.match(errors.late!, /did not answer within 0\.15 s/);
  assert.match(errors.dies!, /went away during the call/);
  await sleep(100);
  assert.equal(textOf(await client.use("kit:cancelled")), "wait", "dag-018: the server was told");
  // The server that died starts again; a read that lost it is tried again by itself.
  assert.equal((await run(client, [task("again", "two:echo", { text: "hi" })])).results.again, "two: hi");
  assert.match(
    await refused(client.call("run_workflow", { tasks: [task("w", "kit:write", { file: "x" })] })),
    /task w: kit:write may not be called: policy\.deny has "kit:write"/,
  );
});

Deno.test("a read whose server was lost is tried again; what acts is in doubt", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: { "kit:crash": "idempotent" } } });
  await using client = await connectClient(home);
  const began = performance.now();
  const answer = await run(client, [task("lost", "kit:crash", {}, { retries: 1 }), task("acts", "two:crash")]);
  assert.deepEqual(statuses(answer), { lost: "error", acts: "in_doubt" });
  assert.ok(performance.now() - began >= 1_000, "one more try, after a second");
  const shown = JSON.parse((await home.run(["runs", "show", answer.workflow_id, "--json"])).stdout || "{}");
  const tries = shown.events.filter((event: { kind: string; task: string }) => event.kind === "started");
  assert.deepEqual(tries.map(({ task, attempt }: { task: string; attempt: number }) => `${task} ${attempt}`).sort(), [
    "acts 1",
    "lost 1",
    "lost 2",
  ]);
});

Deno.test("a run stops where it was asked to, goes on, and takes more tasks on the way", async () => {
  await using home = await shareTestHome({ servers: SERVERS, policy: { effects: READS } });
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const chain = [
    task("a", "kit:echo", { text: "1" }),
    task("b", "kit:append", { file, line: "b $OUTPUT[a]" }),
    task("c", "kit:echo", { text: "$OUTPUT[b]" }),
  ];
  const layer = await run(client, chain, { pause: "layer" });
  assert.deepEqual([layer.status, layer.pending?.reason, layer.pending?.for], ["paused", "layer", "agent"]);
  assert.deepEqual(statuses(layer), { a: "success", b: "waiting", c: "waiting" });
  const more = await resume(client, layer.workflow_id, "inject", {
    tasks: [task("x", "two:echo", { text: "x $OUTPUT[a]" })],
  });
  assert.deepEqual([more.status, more.pending?.reason, statuses(more).x], ["paused", "layer", "waiting"]);
  const second = await resume(client, layer.workflow_id, "continue");
  assert.deepEqual(statuses(second), { a: "success", b: "success", c: "waiting", x: "success" });
  const last = await resume(client, layer.workflow_id, "continue");
  assert.deepEqual([last.status, last.results.x, last.results.c], [
    "completed",
    "two: x kit: 1",
    "kit: appended b kit: 1",
  ]);
  assert.match(
    await refused(client.call("resume_workflow", { workflow_id: layer.workflow_id, action: "abort" })),
    /is over: completed/,
  );

  const effects = await run(client, chain, { pause: "effects" });
  assert.deepEqual([effects.pending?.reason, effects.pending?.task], ["effects", "b"]);
  assert.deepEqual(effects.pending?.call, { tool: "kit:append", arguments: { file, line: "b kit: 1" } });
  assert.equal((await linesOf(file)).length, 2, "nothing was done yet");
  assert.equal((await resume(client, effects.workflow_id, "continue")).status, "completed");

  const after = await run(client, chain, { pause_after: ["a"] });
  assert.deepEqual([after.pending?.reason, after.pending?.task], ["after", "a"]);
  const ended = await resume(client, after.workflow_id, "abort");
  assert.deepEqual([ended.status, statuses(ended)], ["aborted", { a: "success", b: "skipped", c: "skipped" }]);
  assert.match(
    await refused(client.call("resume_workflow", { workflow_id: "wf_0", action: "status" })),
    /There is no run/,
  );
  assert.match(
    await refused(
      client.call("resume_workflow", { workflow_id: layer.workflow_id, action: "replan", requirement: "x" }),
    ),
    /is over: completed/,
  );
  assert.match(
    await refused(client.call("resume_workflow", { workflow_id: after.workflow_id, action: "inject" })),
    /tasks is missing/,
  );
  assert.match(
    await refused(client.call("run_workflow", { tasks: chain, options: { pause_after: ["aa"] } })),
    /options name tasks that are not there: aa\nDid you mean a\?/,
  );
});

Deno.test("abort during a fan-out stops what runs and reports what finished", async () => {
  await using home = await shareTestHome({ servers: SERVERS, policy: { effects: READS } });
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  await run(client, [task("warm", "kit:echo", { text: "up" })]);
  const seen = client.others.length;
  const running = run(
    client,
    [
      task("quick", "kit:echo", { text: "1" }),
      ...Array.from({ length: 8 }, (_, i) => task(`slow${i}`, "kit:wait", { ms: 4_000, steps: 100 })),
      task("acts", "kit:append", { file, line: "x", ms: 4_000 }),
      task("end", "kit:echo", { text: "$OUTPUT[slow0]" }),
    ],
    {},
    { progressToken: 1 },
  );
  await until("it acts", async () => (await linesOf(file)).length === 1);
  const id = await toldId(client, seen);
  const status = await resume(client, id, "status");
  assert.deepEqual([status.status, statuses(status).slow3], ["running", "running"]);
  const began = performance.now();
  const aborted = await resume(client, id, "abort");
  assert.ok(performance.now() - began < 1_500);
  assert.deepEqual(await running, aborted, "both who wait get the same answer");
  const { quick, slow0, acts, end } = statuses(aborted);
  assert.deepEqual([aborted.status, quick, slow0, acts, end], ["aborted", "success", "skipped", "in_doubt", "skipped"]);
  await sleep(300);
  assert.match(textOf(await client.use("kit:cancelled")), /^wait(,wait){7}$/);
});

Deno.test("a result of 20 MB stays outside, and the next task uses a part of it", async () => {
  await using home = await shareTestHome({ servers: SERVERS, policy: { effects: READS } });
  await using client = await connectClient(home);
  const answer = await run(client, [
    task("big", "kit:rows", { count: 250_000 }),
    task("part", "two:echo", { text: "$OUTPUT[big].rows[249999].name" }),
    task("text", "kit:big", { characters: 60_000 }),
  ], { return: ["big", "part", "text"] });
  assert.equal(answer.status, "completed", JSON.stringify(answer.tasks));
  assert.equal(answer.results.part, "two: row 249999");
  const big = answer.results.big as { handle: string; bytes: number; shape: string };
  assert.ok(big.bytes > 15_000_000, String(big.bytes));
  assert.match(big.shape, /rows: array\(250000\) of/);
  const { handle } = answer.results.text as { handle: string };
  const again = await run(client, [
    task("one", "kit:echo", { text: `$RESULT[${big.handle}].rows[7].name` }),
    task("bad", "kit:echo", { text: `$RESULT[${big.handle}].nothing` }),
    task("gone", "kit:echo", { text: "$RESULT[r_0000000000000000]" }),
    task("slice", "agentcards:read_result", { handle, limit: 5 }),
  ]);
  assert.deepEqual([again.results.one, again.results.slice], ["kit: row 7", "xxxxx"]);
  const errors = Object.fromEntries(again.tasks.map(({ id, error }) => [id, error ?? ""]));
  assert.match(errors.bad!, /leads nowhere: what is there has rows/);
  assert.match(errors.gone!, /no stored result/);
});

Deno.test("code works around branches that failed", async () => {
  await using home = await shareTestHome({ servers: SERVERS, policy: { effects: READS } });
  await using client = await connectClient(home);
  const code = (id: string, text: string, depends_on: string[], more = {}) => ({
    id,
    type: "code_execution",
    code: text,
    depends_on,
    ...more,
  });
  const answer = await run(client, [
    task("one", "kit:add", { a: 1, b: 2 }),
    task("two", "kit:fail"),
    task("three", "two:add", { a: 3, b: 4 }),
    code("sum", "return Object.values(deps).filter((d) => d.status === 'success').map((d) => d.output.sum)", [
      "one",
      "two",
      "three",
    ]),
    code("broken", "const a = 1;\nthrow new Error('oops')", ["one"]),
    code(
      "calls",
      "return (await Promise.all([1, 2].map((n) => kit.echo({ text: `${context.word} ${n}` })))).join()",
      [],
      {
        context: { word: "$OUTPUT[one].sum" },
      },
    ),
    task("end", "kit:echo", { text: "$OUTPUT[sum][1] of $OUTPUT[sum]" }),
  ]);
  assert.deepEqual([answer.status, answer.error], ["partial", "broken failed"], JSON.stringify(answer));
  assert.deepEqual(answer.results, { calls: "kit: 3 1,kit: 3 2", end: "kit: 7 of [3,7]" });
  assert.deepEqual(statuses(answer), {
    one: "success",
    two: "error",
    three: "success",
    sum: "success",
    broken: "failed_safe",
    calls: "success",
    end: "success",
  });
  assert.equal(answer.tasks.find(({ id }) => id === "broken")?.error, "RuntimeError in line 2: oops");
  const file = `${home.dir}/written`;
  const write = `return await kit.write({ file: ${JSON.stringify(file)} })`;
  const lost = await run(client, [code("lost", "return await kit.ad({})", [], { intent: "add two numbers" })]);
  assert.match(lost.tasks[0]!.error!, /no tool "kit:ad".*tools for it: .*kit:add\(/);
  const acted = await run(client, [
    code("acts", write, []),
    code("leaves", "return { result: 1, state: { seen: [1, 2], word: 'a' } }", ["acts"]),
    code("sees", "return { result: context, state: { word: 'b' } }", ["leaves"], { context: { own: true } }),
  ]);
  assert.deepEqual([acted.status, acted.results.sees], ["completed", { seen: [1, 2], word: "a", own: true }]);
  assert.deepEqual((acted as unknown as { state: unknown }).state, { seen: [1, 2], word: "b" });
  assert.equal(await Deno.readTextFile(file), "written");
});

Deno.test("who loses patience or connection finds the answer later; who calls it off finds it resting", async () => {
  await using home = await shareTestHome({ servers: SERVERS, policy: { effects: READS } });
  const file = `${home.dir}/oracle`;
  const slow = (name: string) => [
    task("wait", "kit:wait", { ms: 700 }),
    task("acts", "kit:append", { file, line: name, ms: 300 }),
    task("end", "kit:echo", { text: "end" }, { depends_on: ["wait", "acts"] }),
  ];
  await using client = await connectClient(home);
  await run(client, [task("warm", "kit:echo", { text: "up" })]);
  const begin = async (id: string, name: string) => {
    const seen = client.others.length;
    await client.send({
      id,
      method: "tools/call",
      params: { name: "run_workflow", arguments: { tasks: slow(name) }, _meta: { progressToken: id } },
    });
    await until("it acts", async () => (await linesOf(file)).includes(`begin ${name}`));
    return await toldId(client, seen);
  };
  const cancel = (requestId: string, reason: string) =>
    client.send({ method: "notifications/cancelled", params: { requestId, reason } });

  const impatient = await begin("r1", "impatient");
  await cancel("r1", "McpError: MCP error -32001: Request timed out");
  assert.equal((await untilStatus(client, impatient, "completed")).results.end, "kit: end");

  const called = await begin("r2", "called off");
  await cancel("r2", "AbortError: the user pressed Esc");
  const resting = await untilStatus(client, called, "paused");
  assert.deepEqual([resting.pending?.reason, statuses(resting)], [
    "waiting",
    { wait: "waiting", acts: "success", end: "waiting" },
  ]);
  assert.equal((await resume(client, called, "continue")).status, "completed");
  assert.equal((await linesOf(file)).filter((line) => line === "begin called off").length, 1);

  const left = await begin("r3", "left");
  await client.close();
  await using next = await connectClient(home);
  const answer = await resume(next, left, "continue");
  assert.deepEqual([answer.status, answer.results.end], ["completed", "kit: end"]);
});

Deno.test("a question that nobody can answer pauses the run until somebody can", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit"), modern: testServer("kit", "--modern") },
  });
  await using mute = await connectClient(home);
  await using able = await connectClient(home, { capabilities: { elicitation: {} } });
  for (const server of ["kit", "modern"]) {
    const paused = await run(mute, [task("ask", `${server}:ask`), task("other", `${server}:add`, { a: 1, b: 1 })]);
    assert.deepEqual([paused.status, paused.pending?.reason, paused.pending?.for], ["paused", "question", "human"]);
    assert.match(paused.pending!.why, /What is your name\?/);
    assert.equal(statuses(paused).other, "success");
    const again = await resume(mute, paused.workflow_id, "continue");
    assert.equal(again.pending?.reason, "question");
    const seen = able.others.length;
    const going = resume(able, paused.workflow_id, "continue");
    await until(
      "the question came",
      () => able.others.slice(seen).some(({ method }) => method === "elicitation/create"),
    );
    const question = able.others.slice(seen).find(({ method }) => method === "elicitation/create")!;
    await able.send({ id: question.id, result: { action: "accept", content: { name: "Ann" } } });
    const answer = await going;
    assert.equal(answer.status, "completed");
    assert.match(JSON.stringify(answer.results.ask), /Ann/);
  }
});

Deno.test("a question touches no other call: not one beside it, not a direct one, none that has an effect", async () => {
  await using home = await shareTestHome({ servers: { kit: testServer("kit") } });
  await using mute = await connectClient(home);
  const file = `${home.dir}/oracle`;
  // A task that runs out of time while its server starts has not been sent.
  await mute.use("kit:echo", { text: "started" });
  const beside = await run(mute, [
    task("ask", "kit:ask", {}, { timeout_ms: 400 }),
    task("acts", "kit:append", { file, line: "beside", ms: 1_200 }),
  ]);
  assert.deepEqual(statuses(beside), { ask: "in_doubt", acts: "success" });
  const direct = mute.use("kit:ask");
  const alone = await run(mute, [task("acts", "kit:append", { file, line: "alone", ms: 700 })]);
  assert.equal(alone.status, "completed");
  assert.equal((await direct).content.length, 1, "who asked directly gets an answer, too");
  assert.deepEqual(await linesOf(file), ["begin beside", "end beside", "begin alone", "end alone"]);
});

Deno.test("an answer stays within what an agent can read, and asking again makes no new files", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit") },
    policy: { effects: { "kit:*": "read" } },
    limits: { answer_tokens: 2_000 },
  });
  await using client = await connectClient(home);
  const many = Array.from({ length: 300 }, (_, i) => task(`t${i}`, "kit:echo", { text: "x".repeat(300) }));
  const answer = await run(client, many);
  assert.ok(JSON.stringify(answer).length < 40_000, `${JSON.stringify(answer).length} characters`);
  const more = Object.entries(answer.results).find(([key]) => key.endsWith(" more"))![1] as { handle: string };
  const part = await client.use("agentcards:read_result", { handle: more.handle, path: "t299", limit: 10 });
  assert.equal(textOf(part), "kit: xxxxx");
  const files = async () => (await Array.fromAsync(Deno.readDir(`${home.dir}/results`))).length;
  const before = await files();
  for (let i = 0; i < 3; i++) await resume(client, answer.workflow_id, "status");
  assert.equal(await files(), before);
});

Deno.test("what a run that waits has put aside stays, whatever the quota", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit") },
    policy: { effects: { "kit:*": "read" } },
    limits: { results_bytes: 1_048_576 },
  });
  await using client = await connectClient(home);
  const paused = await run(client, [
    task("big", "kit:big", { characters: 300_000 }),
    task("huge", "kit:big", { characters: 1_500_000 }),
    task("use", "kit:echo", { text: "$OUTPUT[big]" }, { depends_on: ["huge"] }),
  ], { pause: "layer" });
  for (let i = 0; i < 6; i++) await client.use("kit:big", { characters: 400_000 });
  await sleep(300);
  const done = await resume(client, paused.workflow_id, "continue");
  assert.equal(done.status, "completed", JSON.stringify(done.tasks));
});

Deno.test("a run's time and a task's time hold while a server starts, too", async () => {
  const slow = {
    command: "sh",
    args: ["-c", `sleep 5; exec ${testServer("kit").command} ${testServer("kit").args.join(" ")}`],
  };
  await using home = await createTestHome({ servers: { kit: slow, fast: testServer("kit") } });
  await using client = await connectClient(home);
  // What it offers must be known without starting it.
  await Deno.writeTextFile(`${home.dir}/config.yaml`, "servers: {}\n");
  await client.close();
  await home.run(["engine", "stop"]);
  const { stringify } = await import("yaml");
  await Deno.writeTextFile(`${home.dir}/config.yaml`, stringify(withPreset({ servers: { kit: slow } })));
  await home.run(["index"]);
  await using next = await connectClient(home);
  const began = performance.now();
  const answer = await run(next, [task("acts", "kit:append", { file: "/dev/null", line: "x" }, { timeout_ms: 300 })]);
  assert.ok(performance.now() - began < 3_000, `${performance.now() - began} ms`);
  assert.deepEqual(statuses(answer), { acts: "error" });
  assert.match(answer.tasks[0]!.error!, /did not answer within 0\.3 s/);
  const timed = await run(next, [task("acts", "kit:append", { file: "/dev/null", line: "x" })], { timeout_ms: 300 });
  assert.deepEqual([timed.status, statuses(timed)], ["failed", { acts: "skipped" }]);
});
