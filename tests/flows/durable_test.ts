// What a crash, a restart and a second decision do to a run: nothing is lost, nothing happens twice, doubt is told.
import assert from "node:assert/strict";
import { type ProcessLock, takeLock } from "../../src/db/lock.ts";
import { openDatabase } from "../../src/db/pglite/open.ts";
import { connectClient, type RawClient } from "../fixtures/client.ts";
import { createTestHome, sleep, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { crash, linesOf, refused, resume, run, statuses, task, toldId, untilStatus } from "../fixtures/workflow.ts";

const SERVERS = { kit: testServer("kit") };
const EFFECTS = { "kit:wait": "read", "kit:echo": "read" } as const;

/** Starts a run that acts, and crashes the engine in the middle of it. */
async function crashWhileActing(home: TestHome, client: RawClient, file: string): Promise<string> {
  await run(client, [task("warm", "kit:echo", { text: "up" })]);
  const seen = client.others.length;
  await client.send({
    id: "doomed",
    method: "tools/call",
    params: {
      name: "run_workflow",
      arguments: {
        tasks: [
          task("first", "kit:append", { file, line: "first" }),
          task("acts", "kit:append", { file, line: "acts", ms: 60_000 }, { depends_on: ["first"] }),
          task("reads", "kit:wait", { ms: 300 }, { depends_on: ["first"] }),
          task("end", "kit:echo", { text: "end $OUTPUT[acts]" }),
        ],
      },
      _meta: { progressToken: "p" },
    },
  });
  await until("it acts", async () => (await linesOf(file)).includes("begin acts"));
  const id = await toldId(client, seen);
  await crash(home);
  return id;
}

Deno.test("after a crash the run goes on by itself, and what may have happened is asked, not repeated", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: EFFECTS } });
  await using client = await connectClient(home);
  for (const outcome of ["done", "skip", "retry"] as const) {
    const file = `${home.dir}/oracle-${outcome}`;
    const id = await crashWhileActing(home, client, file);
    const answered = JSON.stringify(await client.answerTo("doomed"));
    assert.ok(answered.includes(id) && answered.includes("in_doubt"), "who waited is told");
    const doubt = await untilStatus(client, id, "paused");
    assert.deepEqual([doubt.pending?.reason, doubt.pending?.task, doubt.pending?.for], ["in_doubt", "acts", "agent"]);
    assert.equal((doubt.pending?.call as { tool: string }).tool, "kit:append");
    assert.equal(statuses(doubt).first, "success");
    assert.match(
      await refused(client.call("resume_workflow", { workflow_id: id, action: "continue" })),
      /resolve it first/,
    );
    const more = outcome === "done" ? { value: "by hand" } : {};
    if (outcome === "retry") {
      // It would wait for a minute again: the run's client goes away meanwhile, which is all right.
      const going = client.call("resume_workflow", { workflow_id: id, action: "resolve", task: "acts", outcome });
      await until(
        "it acts again",
        async () => (await linesOf(file)).filter((line) => line === "begin acts").length === 2,
      );
      await resume(client, id, "abort");
      await going;
    } else {
      const done = await resume(client, id, "resolve", { task: "acts", outcome, ...more });
      const isDone = outcome === "done";
      assert.equal(done.status, isDone ? "completed" : "partial", "an end that was skipped has not succeeded");
      assert.equal(statuses(done).end, outcome === "done" ? "success" : "skipped");
      if (outcome === "done") assert.equal(done.results.end, "kit: end by hand");
      assert.deepEqual(await linesOf(file), ["begin first", "end first", "begin acts"]);
    }
  }
});

Deno.test("a run that only reads goes on after a crash without a word to anybody", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: EFFECTS } });
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  await run(client, [task("warm", "kit:echo", { text: "up" })]);
  await client.send({
    id: "doomed",
    method: "tools/call",
    params: {
      name: "run_workflow",
      arguments: {
        tasks: [
          task("acts", "kit:append", { file, line: "once" }),
          task("reads", "kit:wait", { ms: 1_500 }, { depends_on: ["acts"] }),
          task("end", "kit:echo", { text: "$OUTPUT[reads] and $OUTPUT[acts]" }),
        ],
      },
      _meta: { progressToken: "p" },
    },
  });
  await until(
    "the first is done",
    () =>
      client.others.some(({ params }) => String((params as { message?: string })?.message).startsWith("acts: success")),
  );
  await sleep(100);
  await crash(home);
  const [started] = client.others.filter(({ method }) => method === "notifications/progress").slice(-2);
  const id = /wf_\w+/.exec(String((started?.params as { message: string }).message))![0];
  const done = await untilStatus(client, id, "completed");
  assert.equal(done.results.end, "kit: waited and appended once");
  assert.deepEqual(await linesOf(file), ["begin once", "end once"], "what was done was not done again");
});

Deno.test("a run waits: paused over a restart, for its own folder, for somebody after too long", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: EFFECTS } });
  const [here, there] = [`${home.dir}/here`, `${home.dir}/there`];
  await Promise.all([here, there].map((dir) => Deno.mkdir(dir)));
  await using client = await connectClient(home, { cwd: here });
  const paused = await run(client, [
    task("a", "kit:echo", { text: "1" }),
    task("b", "kit:echo", { text: "$OUTPUT[a]" }),
  ], {
    pause: "layer",
  });
  await crash(home);
  await using other = await connectClient(home, { cwd: there });
  assert.match(
    await refused(other.call("resume_workflow", { workflow_id: paused.workflow_id, action: "continue" })),
    /belongs to the folder .*here/,
  );
  const status = await resume(client, paused.workflow_id, "status");
  assert.deepEqual([status.status, status.pending?.reason], ["paused", "layer"]);
  const done = await resume(client, paused.workflow_id, "continue");
  assert.deepEqual([done.status, done.results.b], ["completed", "kit: kit: 1"]);

  await Deno.writeTextFile(
    `${home.dir}/config.yaml`,
    (await Deno.readTextFile(`${home.dir}/config.yaml`)) + "engine: { auto_resume: 0 }\n",
  );
  await client.close();
  await using late = await connectClient(home, { cwd: here });
  const seen = late.others.length;
  await late.send({
    id: "doomed",
    method: "tools/call",
    params: {
      name: "run_workflow",
      arguments: { tasks: [task("a", "kit:wait", { ms: 2_000 }), task("b", "kit:echo", { text: "$OUTPUT[a]" })] },
      _meta: { progressToken: "p" },
    },
  });
  await until("it runs", () => late.others.length > seen);
  await sleep(200);
  await crash(home);
  const id = await toldId(late, seen);
  await sleep(600);
  const waiting = await resume(late, id, "status");
  assert.deepEqual([waiting.status, waiting.pending?.reason], ["paused", "waiting"]);
  assert.match((await home.run(["runs"])).stdout, new RegExp(`${id}.*paused`));
  assert.equal((await resume(late, id, "continue")).results.b, "kit: waited");
});

Deno.test("an engine that is stopped lets its runs go on in the next one", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: EFFECTS } });
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  await run(client, [task("warm", "kit:echo", { text: "up" })]);
  const seen = client.others.length;
  await client.send({
    id: "r",
    method: "tools/call",
    params: {
      name: "run_workflow",
      arguments: {
        tasks: [
          task("acts", "kit:append", { file, line: "x", ms: 800 }),
          task("reads", "kit:wait", { ms: 1_000 }),
          task("end", "kit:echo", { text: "end" }, { depends_on: ["acts", "reads"] }),
        ],
      },
      _meta: { progressToken: "p" },
    },
  });
  await until("it acts", async () => (await linesOf(file)).length === 1);
  const id = await toldId(client, seen);
  assert.equal((await home.run(["engine", "restart"])).code, 0);
  const done = await untilStatus(client, id, "completed");
  assert.deepEqual(statuses(done), { acts: "success", reads: "success", end: "success" });
  assert.deepEqual(await linesOf(file), ["begin x", "end x"], "it came to its end before the engine went");
});

Deno.test("two who decide at once cannot both win", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: EFFECTS } });
  await using one = await connectClient(home);
  await using two = await connectClient(home);
  const file = `${home.dir}/oracle`;
  for (let round = 0; round < 5; round++) {
    const line = `round ${round}`;
    const paused = await run(one, [task("acts", "kit:append", { file, line, ms: 50 })], { pause: "effects" });
    const decide = (client: RawClient, action: string) =>
      client.call("resume_workflow", { workflow_id: paused.workflow_id, action });
    await Promise.all([
      decide(one, "continue"),
      decide(two, round % 2 ? "abort" : "continue"),
      decide(one, "continue"),
    ]);
    const end = await resume(two, paused.workflow_id, "status");
    const times = (await linesOf(file)).filter((said) => said === `begin ${line}`).length;
    assert.ok(times <= 1, `${times} times`);
    assert.equal(times === 1 && statuses(end).acts === "success", end.status === "completed");
  }
});

Deno.test("an engine that is stopped while a long call acts leaves a doubt behind, not a failure", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: EFFECTS } });
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  await run(client, [task("warm", "kit:echo", { text: "up" })]);
  const seen = client.others.length;
  await client.send({
    id: "r",
    method: "tools/call",
    params: {
      name: "run_workflow",
      arguments: { tasks: [task("acts", "kit:append", { file, line: "$$OUTPUT[x]", ms: 20_000 })] },
      _meta: { progressToken: "p" },
    },
  });
  await until("it acts", async () => (await linesOf(file)).length === 1);
  const id = await toldId(client, seen);
  assert.equal((await home.run(["engine", "stop"])).code, 0);
  const doubt = await untilStatus(client, id, "paused");
  assert.deepEqual([doubt.pending?.reason, doubt.pending?.task], ["in_doubt", "acts"]);
  assert.deepEqual(doubt.pending?.call, { tool: "kit:append", arguments: { file, line: "$OUTPUT[x]", ms: 20_000 } });
  assert.deepEqual(await linesOf(file), ["begin $OUTPUT[x]"]);
});

Deno.test("a client that only looks in after a crash does the run no harm", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: EFFECTS } });
  const client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const id = await startSlowly(client, [
    task("reads", "kit:wait", { ms: 1_200 }),
    task("acts", "kit:append", { file, line: "x" }, { depends_on: ["reads"] }),
  ]);
  await crash(home);
  Deno.kill(client.pid, "SIGKILL");
  for (const ms of [50, 150, 300]) {
    const visitor = await connectClient(home);
    await visitor.request("tools/list");
    await sleep(ms);
    await visitor.close();
  }
  await using next = await connectClient(home);
  const done = await untilStatus(next, id, "completed");
  assert.deepEqual(statuses(done), { reads: "success", acts: "success" });
  assert.deepEqual(await linesOf(file), ["begin x", "end x"]);
});

Deno.test("a run out of a backup never goes on by itself", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: EFFECTS } });
  const client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const id = await startSlowly(client, [
    task("reads", "kit:wait", { ms: 2_500 }),
    task("pays", "kit:append", { file, line: "paid" }, { depends_on: ["reads"] }),
  ]);
  assert.equal((await home.run(["backup", `${home.dir}/then.backup`])).code, 0);
  await untilStatus(client, id, "completed");
  await client.close();
  const restored = await home.run(["restore", `${home.dir}/then.backup`]);
  assert.equal(restored.code, 0, restored.stderr);
  await using next = await connectClient(home);
  await sleep(1_000);
  const waiting = await resume(next, id, "status");
  assert.deepEqual([waiting.status, waiting.pending?.reason, waiting.pending?.for], ["paused", "restored", "human"]);
  assert.match(waiting.pending!.why, /comes out of a backup/);
  for (const command of [{ action: "continue" }, { action: "resolve", task: "pays", outcome: "retry" }]) {
    const said = await refused(next.call("resume_workflow", { workflow_id: id, ...command }));
    assert.match(said, /only a human can go on with it/);
  }
  const tooEarly = await home.run(["runs", "resume", id]);
  assert.match(tooEarly.stderr, /resolve pays first/, tooEarly.stdout);
  const resolved = await home.run([
    "runs",
    "resolve",
    id,
    "--task",
    "pays",
    "--outcome",
    "done",
    "--value",
    '"by hand"',
  ]);
  assert.match(resolved.stdout, /comes out of a backup.*continue does the rest/);
  assert.equal((await home.run(["runs", "resume", id])).code, 0);
  const done = await resume(next, id, "status");
  assert.deepEqual([done.status, done.results], ["completed", { pays: "by hand" }]);
  assert.deepEqual(await linesOf(file), ["begin paid", "end paid"], "nothing was paid twice");
});

Deno.test("tasks are added to a run that is running, and what it needs is written down anew", async () => {
  await using home = await createTestHome({
    servers: { ...SERVERS, two: testServer("kit", "--name=two") },
    policy: { effects: { ...EFFECTS, "two:echo": "read" } },
  });
  await using client = await connectClient(home);
  const id = await startSlowly(client, [task("slow", "kit:wait", { ms: 4_000 })]);
  const done = await resume(client, id, "inject", { tasks: [task("more", "two:echo", { text: "$OUTPUT[slow]" })] });
  assert.deepEqual([done.status, done.results], ["completed", { more: "two: waited" }]);
  // A client that is still there would start the next engine on the same folder.
  await client.close();
  const { summary, servers } = await rowOf(home, id);
  assert.deepEqual([summary, servers], [2, ["kit", "two"]]);
});

/** Starts a run and does not wait for it. */
async function startSlowly(client: RawClient, tasks: unknown[]): Promise<string> {
  await run(client, [task("warm", "kit:echo", { text: "up" })]);
  const seen = client.others.length;
  await client.send({
    id: crypto.randomUUID(),
    method: "tools/call",
    params: { name: "run_workflow", arguments: { tasks }, _meta: { progressToken: "p" } },
  });
  return await toldId(client, seen);
}

/** What the database knows about a run. */
async function rowOf(home: TestHome, id: string): Promise<{ summary: number; servers: string[] }> {
  await crash(home);
  let lock: ProcessLock | null = null;
  await until("the data folder is free", async () => (lock = await takeLock(`${home.dir}/engine.lock`)) !== null);
  await using _held = lock;
  const db = await openDatabase(`${home.dir}/data`);
  const [row] = await db.query<{ summary: string; servers: string[] }>(
    "select summary, servers from workflow_run where id = $1",
    [id],
  );
  await db.close();
  return { summary: JSON.parse(row!.summary).tasks, servers: row!.servers };
}

Deno.test("code goes on after a crash where it was: what it called is heard again, not called again", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: { effects: EFFECTS } });
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const given = JSON.stringify(file);
  await run(client, [task("warm", "kit:echo", { text: "up" })]);
  for (const [line, ms] of [["waits", 0], ["acts", 60_000]] as const) {
    const code = `
      await kit.append({ file: ${given}, line: "${line} 1" });
      const word = await kit.append({ file: ${given}, line: "${line} 2", ms: ${ms} });
      await kit.wait({ ms: 1500 });
      return [word, (await kit.append({ file: ${given}, line: "${line} 3" }))];
    `;
    const seen = client.others.length;
    await client.send({
      id: line,
      method: "tools/call",
      params: {
        name: "run_workflow",
        arguments: { tasks: [{ id: "code", type: "code_execution", code }] },
        _meta: { progressToken: line },
      },
    });
    await until("it has acted", async () => (await linesOf(file)).includes(ms ? "begin acts 2" : "end waits 2"));
    const id = await toldId(client, seen);
    if (!ms) await sleep(100);
    await crash(home);
    await client.answerTo(line);
    if (ms) {
      const doubt = await untilStatus(client, id, "paused");
      assert.deepEqual([doubt.pending?.reason, doubt.pending?.task], ["in_doubt", "code"]);
      assert.deepEqual(doubt.pending?.call, {
        tool: "kit:append",
        arguments: { file, line: "acts 2", ms },
      });
      const done = await resume(client, id, "resolve", { task: "code", outcome: "done", value: "by hand" });
      assert.deepEqual([done.status, done.results.code], ["completed", ["by hand", "appended acts 3"]]);
    } else {
      const done = await untilStatus(client, id, "completed");
      assert.deepEqual(done.results.code, ["appended waits 2", "appended waits 3"]);
    }
  }
  const of = (line: string) => [`begin ${line}`, `end ${line}`];
  assert.deepEqual(await linesOf(file), [
    ...["waits 1", "waits 2", "waits 3", "acts 1"].flatMap(of),
    "begin acts 2",
    ...of("acts 3"),
  ]);
});
