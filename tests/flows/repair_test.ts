// A run that failed, was aborted or ran out of time goes on from what succeeded; tasks can be taken out and replaced.
import assert from "node:assert/strict";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, sleep, testServer, until } from "../fixtures/gateway.ts";
import { shareTestHome } from "../fixtures/shared_home.ts";
import { crash, linesOf, refused, resume, run, statuses, task, toldId, untilStatus } from "../fixtures/workflow.ts";

const CONFIG = {
  servers: { kit: testServer("kit", "--files") },
  policy: { effects: { "kit:read_file": "read", "kit:wait": "read", "kit:hang": "read", "kit:fail": "read" } },
};

const code = (id: string, text: string, more = {}) => ({ id, type: "code_execution", code: text, ...more });

Deno.test("a run whose last task had a wrong path is repaired by replace; nothing that succeeded is done again", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  await Deno.writeTextFile(`${home.dir}/right`, "right");
  const writes = Array.from({ length: 10 }, (_, i) => task(`w${i}`, "kit:append", { file, line: `w${i}` }));
  const last = (path: string) => task("last", "kit:read_file", { file: path }, { depends_on: writes.map((t) => t.id) });
  const failed = await run(client, [...writes, last(`${home.dir}/wrong`)]);
  assert.deepEqual([failed.status, failed.error, statuses(failed).last], ["failed", "last failed", "error"]);
  assert.match(JSON.stringify(failed), /resume_workflow goes on from it: retry/);
  const id = failed.workflow_id;
  const stillWrong = await resume(client, id, "retry");
  assert.equal(stillWrong.status, "failed");
  const repaired = await resume(client, id, "replace", { tasks: [last(`${home.dir}/right`)] });
  assert.deepEqual([repaired.status, repaired.results.last, repaired.error], ["completed", "right", undefined]);
  assert.equal((await linesOf(file)).length, 20, "each of the ten wrote its two lines once");
  for (const action of ["retry", "inject", "replace"]) {
    const given = { workflow_id: id, action, tasks: action === "retry" ? [] : [last("x")] };
    assert.match(await refused(client.call("resume_workflow", given)), /is over: completed/);
  }
  const shown = JSON.parse((await home.run(["runs", "show", id, "--json"])).stdout);
  assert.deepEqual([shown.status, shown.succeeded], ["completed", 11]);
  const typed = (await home.run(["runs", "show", id])).stdout;
  assert.match(typed, /the agent ran again: last\n[^\n]*the agent replaced last\n/);
});

Deno.test("an end that gave null is among the results, for an agent and at the command line", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const tasks = [code("nothing", "return null"), code("zero", "return 0"), code("empty", 'return ""')];
  const answer = await run(client, tasks);
  assert.deepEqual([answer.status, answer.results], ["completed", { nothing: null, zero: 0, empty: "" }]);
  await Deno.writeTextFile(`${home.dir}/flow.json`, JSON.stringify({ tasks }));
  const typed = await home.run(["run", "flow.json"]);
  assert.equal(typed.code, 0, typed.stderr);
  assert.match(typed.stdout, /^nothing {2}null\nzero {2}0\nempty/);
});

Deno.test("an aborted run and one that ran out of time go on by replace, the latter with its time anew", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const late = await run(client, [
    task("done", "kit:append", { file, line: "done" }),
    task("slow", "kit:wait", { ms: 700 }),
    task("end", "kit:echo", { text: "$OUTPUT[slow]" }),
  ], { timeout_ms: 500, return: ["done", "end"] });
  assert.deepEqual([late.status, statuses(late).slow], ["partial", "skipped"]);
  assert.match(late.error!, /the run's time of 500 ms was over/);
  const quick = task("slow", "kit:wait", { ms: 100 });
  const again = await resume(client, late.workflow_id, "replace", { tasks: [quick] });
  assert.deepEqual([again.status, again.results.end], ["completed", "kit: waited"]);
  assert.equal((await linesOf(file)).length, 2);

  client.others.length = 0;
  const hanging = client.call("run_workflow", {
    tasks: [task("hang", "kit:hang"), task("next", "kit:echo", { text: "$OUTPUT[hang]" })],
  }, { progressToken: "p" });
  const id = await toldId(client);
  const aborted = await resume(client, id, "abort");
  await hanging;
  assert.deepEqual([aborted.status, statuses(aborted)], ["aborted", { hang: "skipped", next: "skipped" }]);
  const mended = await resume(client, id, "replace", { tasks: [task("hang", "kit:echo", { text: "here" })] });
  assert.deepEqual([mended.status, mended.results.next], ["completed", "kit: kit: here"]);
});

Deno.test("a failed run, an aborted one and one that ran out of time go on by retry and by inject", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const wanted = `${home.dir}/wanted`;
  const writes = task("writes", "kit:append", { file, line: "x" });
  const more = (id: string) => [task(id, "kit:echo", { text: "$OUTPUT[writes]" })];
  let count = 0;
  /** Injects a task that uses what succeeded, then runs again what did not. */
  const goOn = async (id: string, rest: Record<string, string>, mend: () => Promise<unknown>) => {
    const grown = await resume(client, id, "inject", { tasks: more("more") });
    assert.deepEqual([grown.status, statuses(grown)], ["partial", { writes: "success", ...rest, more: "success" }]);
    assert.equal(grown.results.more, "kit: appended x");
    await mend();
    const done = await resume(client, id, "retry");
    assert.deepEqual([done.status, Object.values(statuses(done))], ["completed", grown.tasks.map(() => "success")]);
    assert.equal((await linesOf(file)).length, 2 * ++count, "what had succeeded was not done again");
    const { status, succeeded } = JSON.parse((await home.run(["runs", "show", id, "--json"])).stdout);
    assert.deepEqual([status, succeeded], ["completed", grown.tasks.length]);
  };

  const failed = await run(client, [
    writes,
    task("bad", "kit:read_file", { file: wanted }, { depends_on: ["writes"] }),
  ]);
  assert.deepEqual([failed.status, statuses(failed).bad], ["failed", "error"]);
  await goOn(failed.workflow_id, { bad: "error" }, () => Deno.writeTextFile(wanted, "here"));

  const poll =
    "try { return await kit.read_file({ file: context.gate }) } catch { await new Promise((go) => setTimeout(go, 50)) }";
  const waits = (gate: string) => code("waits", `for (;;) ${poll}`, { context: { gate }, depends_on: ["writes"] });
  const running = client.call("run_workflow", { tasks: [writes, waits(`${wanted}2`)] }, { progressToken: "p" });
  const id = await toldId(client);
  await until("the first has succeeded", () => /writes: success/.test(JSON.stringify(client.others)));
  const aborted = await resume(client, id, "abort");
  await running;
  assert.deepEqual([aborted.status, statuses(aborted)], ["aborted", { writes: "success", waits: "skipped" }]);
  await goOn(id, { waits: "skipped" }, () => Deno.writeTextFile(`${wanted}2`, "here"));

  const late = await run(client, [writes, waits(`${wanted}3`)], { timeout_ms: 4_000 });
  assert.deepEqual([late.status, statuses(late)], ["failed", { writes: "success", waits: "skipped" }]);
  assert.match(late.error!, /the run's time of 4000 ms was over/);
  await goOn(late.workflow_id, { waits: "skipped" }, () => Deno.writeTextFile(`${wanted}3`, "here"));
});

Deno.test("a call that may have happened is not run again by retry or replace, only by resolve", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const tasks = [
    task("acts", "kit:append", { file, line: "acts", ms: 60_000 }, { timeout_ms: 1_500 }),
    task("next", "kit:echo", { text: "$OUTPUT[acts]" }),
    task("bad", "kit:fail"),
    task("beside", "kit:wait", { ms: 1_800 }),
    task("after", "kit:echo", { text: "$OUTPUT[beside]" }),
  ];
  const doubt = await run(client, tasks);
  assert.deepEqual([doubt.status, doubt.pending?.reason, statuses(doubt)], ["paused", "in_doubt", {
    acts: "in_doubt",
    next: "waiting",
    bad: "error",
    beside: "success",
    after: "success",
  }], "the other branches came to their end");
  const id = doubt.workflow_id;
  const retry = (action: string, given: unknown[]) =>
    refused(client.call("resume_workflow", { workflow_id: id, action, tasks: given }));
  assert.match(await retry("retry", ["acts"]), /task acts is in doubt: its call may have happened; resolve it first/);
  assert.match(await retry("replace", [tasks[0]]), /task acts is in doubt/);
  assert.match(await retry("retry", ["after"]), /task after has succeeded/);
  assert.match(await retry("retry", ["nope"]), /task nope is not in the run/);
  const others = await resume(client, id, "retry");
  assert.deepEqual([others.status, statuses(others).acts, statuses(others).bad], ["paused", "in_doubt", "error"]);
  assert.deepEqual(await linesOf(file), ["begin acts"]);

  const aborted = await resume(client, id, "abort");
  assert.deepEqual([aborted.status, statuses(aborted).acts], ["aborted", "in_doubt"]);
  assert.match(
    await refused(
      client.call("resume_workflow", { workflow_id: id, action: "resolve", task: "acts", outcome: "done" }),
    ),
    /task next refers to what acts gave; say it as value/,
  );
  const skipped = await resume(client, id, "resolve", { task: "acts", outcome: "skip" });
  assert.deepEqual([skipped.status, statuses(skipped).next], ["partial", "skipped"]);
  assert.match(await retry("retry", ["acts"]), /was skipped by a decision, since its call may have happened/);
  await resume(client, id, "retry");
  assert.deepEqual(await linesOf(file), ["begin acts"], "nobody asked for it to be done again");
});

Deno.test("code that acted and then failed is run again without acting again, also with other code", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const wanted = `${home.dir}/wanted`;
  const act = `await kit.append({ file: ${JSON.stringify(file)}, line: "once" });`;
  const task = code("c", `${act}\nreturn await kit.read_file({ file: ${JSON.stringify(wanted)} })`, {
    side_effects: true,
  });
  const failed = await run(client, [task]);
  assert.deepEqual([failed.status, statuses(failed).c], ["failed", "error"]);
  assert.match(failed.tasks[0]!.error!, /It had acted before: kit:append/);
  await Deno.writeTextFile(wanted, "it is here now");
  const again = await resume(client, failed.workflow_id, "retry");
  assert.deepEqual([again.status, again.results.c], ["completed", "it is here now"]);
  assert.equal((await linesOf(file)).length, 2, "one beginning, one end");

  const wrong = await run(client, [code("c", `${act}\nthrow new Error("a mistake")`, { side_effects: true })]);
  const right = await resume(client, wrong.workflow_id, "replace", {
    tasks: [code("c", `${act}\nreturn "corrected"`, { side_effects: true })],
  });
  assert.deepEqual([right.status, right.results.c], ["completed", "corrected"]);
  assert.equal((await linesOf(file)).length, 4);
});

Deno.test("tasks that have not begun are replaced and taken out, of a run that waits and of one that runs", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const chain = [
    task("a", "kit:echo", { text: "a" }),
    task("b", "kit:echo", { text: "$OUTPUT[a]" }),
    task("c", "kit:echo", { text: "$OUTPUT[b]" }),
    task("d", "kit:echo", { text: "$OUTPUT[a]" }),
  ];
  const paused = await run(client, chain, { pause_after: ["a"] });
  const id = paused.workflow_id;
  const no = (action: string, more: object) =>
    refused(client.call("resume_workflow", { workflow_id: id, action, ...more }));
  assert.match(await no("remove", { ids: ["b"] }), /c needs b; remove both/);
  assert.match(await no("remove", { ids: ["a"] }), /task a has begun \(success\)/);
  assert.match(await no("replace", { tasks: [task("x", "kit:echo", { text: "x" })] }), /Task x is not in the run/);
  assert.match(await no("replace", { tasks: [task("b", "kit:echo", {})] }), /arguments\.text is missing/);
  const fewer = await resume(client, id, "remove", { ids: ["b", "c"] });
  assert.deepEqual([fewer.status, Object.keys(statuses(fewer))], ["paused", ["a", "d"]]);
  await resume(client, id, "replace", { tasks: [task("d", "kit:echo", { text: "other" }, { depends_on: ["a"] })] });
  const done = await resume(client, id, "continue");
  assert.deepEqual([done.status, done.results], ["completed", { d: "kit: other" }]);

  client.others.length = 0;
  const file = `${home.dir}/oracle`;
  const running = client.call("run_workflow", {
    tasks: [
      task("acts", "kit:append", { file, line: "acts", ms: 1_200 }),
      task("next", "kit:append", { file, line: "not wanted $OUTPUT[acts]" }),
      task("gone", "kit:append", { file, line: "not wanted either" }, { depends_on: ["acts"] }),
    ],
  }, { progressToken: "p" });
  const live = await toldId(client);
  await until("it acts", async () => (await linesOf(file)).length === 1);
  assert.match(
    await refused(client.call("resume_workflow", { workflow_id: live, action: "remove", ids: ["acts"] })),
    /has begun/,
  );
  const changed = await resume(client, live, "remove", { ids: ["gone"] });
  assert.equal(changed.status, "completed");
  await running;
  assert.deepEqual(await linesOf(file), [
    "begin acts",
    "end acts",
    "begin not wanted appended acts",
    "end not wanted appended acts",
  ]);
});

Deno.test("each effect inside code is a pause of its own, shown with its arguments", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const text = `for (const n of [1, 2, 3]) await kit.append({ file: ${
    JSON.stringify(file)
  }, line: String(n) }); return "all"`;
  let answer = await run(client, [code("c", text, { side_effects: true })], { pause: "effects" });
  for (const n of [1, 2, 3]) {
    assert.deepEqual([answer.status, answer.pending?.reason], ["paused", "effects"]);
    assert.deepEqual(answer.pending?.call, { tool: "kit:append", arguments: { file, line: String(n) } });
    assert.equal((await linesOf(file)).length, (n - 1) * 2);
    answer = await resume(client, answer.workflow_id, "continue");
  }
  assert.deepEqual([answer.status, answer.results.c, (await linesOf(file)).length], ["completed", "all", 6]);
});

/** What `status` without an id tells. */
async function list(client: RawClient) {
  return JSON.parse(textOf(await client.call("resume_workflow", { action: "status" }))) as {
    runs: { workflow_id: string; status: string; waits?: string; session?: string }[];
    next: string;
  };
}

Deno.test("status without an id lists this session's runs and this folder's unfinished ones", async () => {
  await using home = await shareTestHome(CONFIG);
  await using first = await connectClient(home);
  assert.match((await list(first)).next, /^No run of this session is known; in this folder none is unfinished/);
  const done = await run(first, [task("a", "kit:echo", { text: "a" })]);
  const waits = await run(
    first,
    [task("a", "kit:echo", { text: "a" }), task("b", "kit:echo", { text: "$OUTPUT[a]" })],
    {
      pause: "layer",
    },
  );
  assert.deepEqual((await list(first)).runs.map(({ workflow_id, status }) => [workflow_id, status]), [
    [waits.workflow_id, "paused"],
    [done.workflow_id, "completed"],
  ]);
  await using second = await connectClient(home);
  const [seen, ...more] = (await list(second)).runs;
  assert.deepEqual([seen?.workflow_id, seen?.waits, seen?.session, more.length], [
    waits.workflow_id,
    "layer for agent",
    "another",
    0,
  ]);
  await Deno.mkdir(`${home.dir}/elsewhere`);
  await using third = await connectClient(home, { cwd: `${home.dir}/elsewhere` });
  assert.deepEqual((await list(third)).runs, []);
  assert.match(
    await refused(first.call("resume_workflow", { action: "continue" })),
    /workflow_id is missing: which run is it to continue\?/,
  );
});

Deno.test("status without an id lists a call that waits for a human as this session's, and what an earlier engine ran", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const asked = JSON.parse(textOf(await client.use("kit:ask")));
  assert.deepEqual([asked.status, asked.pending.reason], ["paused", "question"]);
  const good = await run(client, [task("a", "kit:echo", { text: "a" })]);
  const bad = await run(client, [task("a", "kit:fail")]);
  const half = await run(client, [task("a", "kit:echo", { text: "a" }), task("b", "kit:fail")]);
  const told = async (by: RawClient) =>
    (await list(by)).runs.map(({ workflow_id, status, session }) => [workflow_id, status, session]);
  const [partial, failed] = [[half.workflow_id, "partial"], [bad.workflow_id, "failed"]] as const;
  const [completed, paused] = [[good.workflow_id, "completed"], [asked.workflow_id, "paused"]] as const;
  assert.deepEqual(await told(client), [partial, failed, completed, paused].map((run) => [...run, undefined]));
  await using other = await connectClient(home);
  assert.deepEqual(await told(other), [paused, partial, failed].map((run) => [...run, "another"]), "to go on with");

  assert.equal((await home.run(["engine", "stop"])).code, 0);
  const byId = (rows: unknown[][]) => rows.toSorted(([a], [b]) => String(a) < String(b) ? -1 : 1);
  const theirs = [paused, partial, failed, completed].map((run) => [...run, undefined]);
  assert.deepEqual(byId(await told(client)), byId(theirs), "the next engine knows whose they are");
  const next = await run(client, [task("a", "kit:echo", { text: "b" })]);
  const [own, ...more] = await told(client);
  assert.deepEqual([own, more.length], [[next.workflow_id, "completed", undefined], 4]);
});

Deno.test("what was repaired is in the journal: a crash right after it loses nothing of it", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const failed = await run(client, [
    task("w", "kit:append", { file, line: "w" }),
    task("bad", "kit:fail", {}, { depends_on: ["w"] }),
  ]);
  client.others.length = 0;
  void client.call("resume_workflow", {
    workflow_id: failed.workflow_id,
    action: "replace",
    tasks: [task("bad", "kit:wait", { ms: 3_000 }, { depends_on: ["w"] })],
  }).catch(() => {});
  await sleep(800);
  await crash(home);
  const done = await untilStatus(client, failed.workflow_id, "completed");
  assert.deepEqual([done.results.bad, (await linesOf(file)).length], ["waited", 2]);
});

Deno.test("a decision that is refused releases nothing, also of a run that is just coming to its pause", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  for (let round = 0; round < 8; round++) {
    client.others.length = 0;
    const running = client.call("run_workflow", {
      tasks: [
        task("read", "kit:wait", { ms: 20 * round }),
        task("act", "kit:append", { file, line: "x" }, { depends_on: ["read"] }),
      ],
      options: { pause: "effects" },
    }, { progressToken: `p${round}` });
    const id = await toldId(client);
    await sleep(15 * round);
    assert.match(
      await refused(client.call("resume_workflow", { workflow_id: id, action: "retry", tasks: ["nope"] })),
      /nope is not in the run/,
    );
    const answer = JSON.parse(textOf(await running));
    assert.deepEqual([answer.status, answer.pending?.reason], ["paused", "effects"]);
  }
  assert.deepEqual(await linesOf(file), [], "nobody let it go");
});

Deno.test("retry means the tasks it names by any name, and takes nothing that belongs to another action", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const failed = await run(client, [task("a", "kit:fail"), task("b", "kit:fail")]);
  const id = failed.workflow_id;
  for (const named of [{ tasks: ["a"] }, { ids: ["a"] }, { task: "a" }]) {
    await resume(client, id, "retry", named);
    const { events } = JSON.parse((await home.run(["runs", "show", id, "--json"])).stdout);
    const last = events.findLast((event: { kind: string }) => event.kind === "command");
    assert.deepEqual(last.decision, { action: "retry", reset: ["a"] }, JSON.stringify(named));
  }
  const no = (input: Record<string, unknown>) => refused(client.call("resume_workflow", { workflow_id: id, ...input }));
  assert.match(await no({ action: "retry", outcome: "done" }), /outcome does not go with retry, which takes tasks/);
  assert.match(await no({ action: "continue", tasks: [] }), /tasks does not go with continue/);
  assert.match(
    await refused(client.call("resume_workflow", { id, action: "status" })),
    /id is not known; did you mean workflow_id\?/,
  );
});

Deno.test("while the tasks of a running run are changed, its status and abort answer at once, and its caller waits on", async () => {
  await using home = await shareTestHome(CONFIG);
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const running = client.call("run_workflow", {
    tasks: [
      task("acts", "kit:append", { file, line: "acts", ms: 2_500 }),
      task("next", "kit:echo", { text: "$OUTPUT[acts]" }),
    ],
  }, { progressToken: "p" });
  const id = await toldId(client);
  await until("it acts", async () => (await linesOf(file)).length === 1);
  const changing = resume(client, id, "replace", {
    tasks: [task("next", "kit:echo", { text: "other" }, { depends_on: ["acts"] })],
  });
  await sleep(100);
  const began = performance.now();
  await resume(client, id, "status");
  assert.ok(performance.now() - began < 1_500, "status does not wait for the call that acts");
  assert.deepEqual((await changing).results, { next: "kit: other" });
  const answer = JSON.parse(textOf(await running));
  assert.deepEqual(
    [answer.status, answer.results],
    ["completed", { next: "kit: other" }],
    "who started it hears its end",
  );
});

Deno.test("an effect whose large answer cannot be stored has happened: it is neither failed nor made again", async () => {
  await using home = await createTestHome({ ...CONFIG, policy: { effects: { "kit:rows": "effectful" } } });
  await using client = await connectClient(home);
  await client.use("kit:echo", { text: "up" });
  await Deno.remove(`${home.dir}/results`, { recursive: true });
  await Deno.writeTextFile(`${home.dir}/results`, "in the way");
  const answer = await run(client, [task("rows", "kit:rows", { count: 2_000 })]);
  assert.equal(answer.status, "completed");
  assert.match(JSON.stringify(answer.results), /could not be stored/);
  for (const count of [2_000, 60_000]) {
    const direct = await client.use("kit:rows", { count });
    assert.equal(direct.isError, undefined, "a call that was answered is not told as failed");
    assert.match(textOf(direct), /The call was answered, but its answer of \d+ characters could not be stored/);
  }
  const code = JSON.parse(textOf(await client.call("execute_code", { code: "return 'x'.repeat(100000)" })));
  assert.match(code.result.note, /could not be stored/);
});

Deno.test("a pause for the agent shows what the next tasks go by", async () => {
  await using home = await createTestHome({ ...CONFIG, policy: { effects: { "kit:echo": "read" } } });
  await using client = await connectClient(home);
  const chain = [
    task("a", "kit:echo", { text: "a" }),
    task("b", "kit:echo", { text: "$OUTPUT[a]" }),
    task("c", "kit:append", { file: `${home.dir}/x`, line: "$OUTPUT[b]" }),
  ];
  const layer = await run(client, chain, { pause: "layer" });
  assert.deepEqual(layer.results, { a: "kit: a" });
  assert.deepEqual((await resume(client, layer.workflow_id, "continue")).results, { b: "kit: kit: a" });
  const effects = await run(client, chain, { pause: "effects" });
  assert.deepEqual(effects.results, { b: "kit: kit: a" });
});

Deno.test("the start of a server counts once in the time that tasks would have taken one by one", async () => {
  const START_MS = 2_000;
  await using home = await createTestHome({ servers: { kit: testServer("kit", `--start-ms=${START_MS}`) } });
  {
    await using client = await connectClient(home);
    await client.use("kit:echo", { text: "known" });
    // The first cage takes longer than those after it.
    await client.call("execute_code", { code: "return 1" });
  }
  const ids = ["a", "b", "c", "d"];
  const calls = "return await Promise.all(['x', 'y', 'z'].map((text) => kit.echo({ text })))";
  const kinds = {
    tools: { tasks: ids.map((id) => task(id, "kit:echo", { text: id })), saved: 2.5 * START_MS },
    // A cage that is made while the server starts takes its time out of the waiting.
    code: { tasks: ids.map((id) => code(id, calls)), saved: START_MS },
  };
  for (const [kind, { tasks, saved }] of Object.entries(kinds)) {
    await using client = await connectClient(home);
    const { workflow_id, tasks: ended, stats } = await run(client, tasks);
    const all = ended.reduce((sum, { ms }) => sum + ms, 0);
    assert.ok(ended.every(({ ms }) => ms > START_MS / 2), `${kind}: each of them waited: ${JSON.stringify(ended)}`);
    assert.ok(stats.sequential_ms <= all - saved, `${kind}: ${stats.sequential_ms} of ${all} ms`);
    assert.ok(stats.sequential_ms >= stats.critical_path_ms, kind);
    const shown = JSON.parse((await home.run(["runs", "show", workflow_id, "--json"])).stdout);
    assert.equal(shown.stats.sequential_ms, stats.sequential_ms, `${kind}: the journal has it too`);
    for (const { kind: happened, ms, starts = {} } of shown.events) {
      if (happened === "done") assert.ok(Object.values<number>(starts).every((waited) => waited <= ms), kind);
    }
  }
});
