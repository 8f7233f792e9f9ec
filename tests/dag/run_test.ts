import assert from "node:assert/strict";
import type { Decision } from "../../src/dag/event.ts";
import { snapshotOf } from "../../src/dag/kept_state.ts";
import { createFold } from "../../src/dag/state.ts";
import { plan } from "../../src/dag/plan.ts";
import { AgentCardsError } from "../../src/model/errors.ts";
import { canonicalJson, type JsonObject, sha256 } from "../../src/model/json.ts";
import { sleep, until } from "../fixtures/gateway.ts";
import { seeded } from "../model/random.ts";
import type { HumanWord } from "../../src/model/call.ts";
import type { TaskResult } from "../../src/dag/run_port.ts";
import { failure, folded, statuses, tell, type Tool, value } from "./harness.ts";

const task = (id: string, tool = "s:get", more: JsonObject = {}) => ({ id, tool, ...more });
const after = (id: string, ...needs: string[]) => task(id, "s:get", { depends_on: needs });
const forEver: Tool = (_, { signal }) =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(failure("cancelled"))));

Deno.test("a task runs as soon as it can, not when its layer can", async () => {
  const nap: Tool = async ({ ms = 0 }) => (await sleep(Number(ms)), value(ms));
  const tools = { "s:get": nap };
  const tasks = [
    task("a1", "s:get", { arguments: { ms: 20 } }),
    task("a2", "s:get", { arguments: { ms: 160 }, depends_on: ["a1"] }),
    task("b1", "s:get", { arguments: { ms: 160 } }),
    task("b2", "s:get", { arguments: { ms: 20 }, depends_on: ["b1"] }),
    after("end", "a2", "b2"),
  ];
  const began = performance.now();
  const state = await tell(tasks, { tools: { ...tools } }).settled();
  assert.equal(state.status, "completed");
  assert.ok(performance.now() - began < 290, "with a barrier between layers it would take 320 ms");
});

Deno.test("the longest path goes first, within what may run at once, in all and on a server", async () => {
  const order: string[] = [];
  let [now, most, mostOnA] = [0, 0, 0];
  const running = new Map<string, number>();
  const tool = (server: string): Tool => async ({ id }) => {
    order.push(String(id));
    running.set(server, (running.get(server) ?? 0) + 1);
    most = Math.max(most, ++now);
    mostOnA = Math.max(mostOnA, running.get("a") ?? 0);
    await sleep(5);
    now--;
    running.set(server, running.get(server)! - 1);
    return value(null);
  };
  const tools = { "a:get": tool("a"), "b:get": tool("b") };
  const chain = (server: string, length: number) =>
    Array.from({ length }, (_, i) =>
      task(`${server}${length}_${i}`, `${server}:get`, {
        arguments: { id: `${server}${length}_${i}` },
        depends_on: i ? [`${server}${length}_${i - 1}`] : [],
      }));
  await tell([...chain("a", 1), ...chain("a", 2), ...chain("a", 4)], { tools, concurrency: 1 }).settled();
  assert.deepEqual(order, ["a4_0", "a4_1", "a2_0", "a4_2", "a1_0", "a2_1", "a4_3"]);
  const wide = ["a", "b"].flatMap((server) =>
    Array.from({ length: 20 }, (_, i) => task(`w${server}${i}`, `${server}:get`, { arguments: { id: i } }))
  );
  await tell(wide, { tools, caps: { all: 6, perServer: 4 } }).settled();
  assert.deepEqual([most, mostOnA], [6, 4]);
});

Deno.test("what a failed task leads to is skipped, the rest comes to its end", async () => {
  const tools = { "s:bad": () => failure("no luck") };
  const state = await tell([task("x", "s:bad"), after("y", "x"), after("z", "y"), task("other")], { tools }).settled();
  assert.equal(state.status, "partial");
  assert.equal(state.error, "x failed; z skipped");
  assert.deepEqual(statuses(state), { x: "error", y: "skipped", z: "skipped", other: "success" });
  assert.equal(state.tasks.get("z")?.error, "it needs y, which did not succeed");
});

Deno.test("code runs once its dependencies have settled, sees how they did, and can save the day", async () => {
  const seen: unknown[] = [];
  const runCode = ({ code }: { code: string }, given: unknown) => {
    seen.push(given);
    return Promise.resolve(code === "throw" ? failure("broken") : { ...value(7), state: { count: 1, last: code } });
  };
  const code = (id: string, text: string, ...depends_on: string[]) => ({
    id,
    type: "code_execution",
    code: text,
    depends_on,
  });
  const tools = { "s:bad": () => failure("no luck"), "s:get": () => value({ n: 1 }) };
  const ports = { runCode };
  const state = await tell(
    [
      task("good"),
      task("bad", "s:bad"),
      code("sum", "ok", "good", "bad"),
      code("weak", "throw"),
      code("mind", "ok", "weak"),
      after("use", "sum"),
    ],
    { tools, ports },
  ).settled();
  assert.equal(state.status, "completed", "an error that code took up is none");
  assert.deepEqual(statuses(state), {
    good: "success",
    bad: "error",
    sum: "success",
    weak: "failed_safe",
    mind: "success",
    use: "success",
  });
  const end = await tell([task("good"), code("weak", "throw")], { tools, ports }).settled();
  assert.deepEqual([end.status, end.error], ["partial", "weak failed"], "an end that failed safely has failed");
  const alone = await tell([code("weak", "throw")], { tools, ports }).settled();
  assert.equal(alone.status, "failed");
  assert.deepEqual(seen.find((one) => Object.keys((one as { deps: object }).deps).length > 0), {
    deps: {
      good: { status: "success", output: { n: 1 }, error: null },
      bad: { status: "error", output: null, error: "no luck" },
    },
    context: {},
  });
  assert.deepEqual(state.workflow.context, { count: 1, last: "ok" });
  const grave = await tell([{ ...code("weak", "throw"), side_effects: true }], { ports }).settled();
  assert.deepEqual([grave.status, grave.tasks.get("weak")?.status], ["failed", "error"]);
});

Deno.test("lost connections are tried again for what is safe to repeat, never for what acts on the world", async () => {
  const calls: Record<string, number> = {};
  const flaky = (name: string, times: number): Tool => () =>
    (calls[name] = (calls[name] ?? 0) + 1) <= times ? failure("gone", "lost") : value(name);
  const tools = {
    "s:get": flaky("get", 1),
    "s:put_x": flaky("put", 1),
    "s:do_x": flaky("do", 1),
    "s:no": flaky("no", 1),
  };
  const began = performance.now();
  const state = await tell(
    [task("read"), task("put", "s:put_x"), task("act", "s:do_x"), task("never", "s:no", { retries: 0 })],
    { tools },
  ).settled();
  assert.deepEqual(statuses(state), { read: "success", put: "success", act: "in_doubt", never: "error" });
  assert.deepEqual(calls, { get: 2, put: 2, do: 1, no: 1 });
  assert.equal(state.tasks.get("read")?.attempt, 2);
  assert.ok(performance.now() - began >= 990, "the second try comes after a second");
});

Deno.test("what acts on the world goes out only after its row is written; what reads does not wait", async () => {
  const gate = Promise.withResolvers<void>();
  const called: string[] = [];
  const tools = Object.fromEntries(
    ["s:get", "s:do_it"].map((name) => [name, () => (called.push(name), value(null))] as [string, Tool]),
  );
  const story = tell([task("read"), task("act", "s:do_it")], {
    tools,
    append: (event) => event.kind === "started" ? gate.promise : Promise.resolve(),
  });
  const settled = story.settled();
  await sleep(20);
  assert.deepEqual(called, ["s:get"]);
  gate.resolve();
  assert.equal((await settled).status, "completed");
  assert.deepEqual(called, ["s:get", "s:do_it"]);
});

Deno.test("a runner that cannot write, or was replaced, does nothing more", async () => {
  let acted = 0;
  let cancelled = 0;
  const tools: Record<string, Tool> = {
    "s:do_it": () => (acted++, value(null)),
    "s:get": (_, { signal }) =>
      new Promise((resolve) => signal.addEventListener("abort", () => (cancelled++, resolve(failure("cancelled"))))),
  };
  const taken = new AgentCardsError("RUN_TAKEN", "taken");
  const fenced = tell([task("read"), task("act", "s:do_it")], {
    tools,
    append: ({ kind }) => kind === "started" ? sleep(5).then(() => Promise.reject(taken)) : Promise.resolve(),
  });
  await assert.rejects(fenced.settled(), { code: "RUN_TAKEN" });
  assert.deepEqual([acted, cancelled], [0, 1]);
  const replaced = tell([task("read"), after("next", "read")], { tools });
  setTimeout(() => replaced.writer.fail(taken), 5);
  await assert.rejects(replaced.settled(), { code: "RUN_TAKEN" });
  assert.equal(cancelled, 2);
});

Deno.test("abort cancels what runs, keeps what is done, and says what may have happened", async () => {
  const tools = { "s:wait": forEver, "s:do_wait": forEver };
  const many = Array.from({ length: 20 }, (_, i) => task(`r${i}`, "s:wait"));
  const story = tell([task("quick"), ...many, task("act", "s:do_wait"), after("late", "r0")], { tools });
  setTimeout(() => story.run.decide({ action: "abort" }, "agent"), 20);
  const state = await story.settled();
  const { quick, act, r0, late } = statuses(state);
  assert.deepEqual([state.status, quick, act, r0, late], ["aborted", "success", "in_doubt", "skipped", "skipped"]);
  assert.throws(() => story.run.decide({ action: "abort" }, "agent"), { code: "RUN_STATE" });
});

Deno.test("a run's own time cancels it; what it did until then stands", async () => {
  const story = tell([task("quick"), task("slow", "s:wait"), after("next", "slow")], {
    tools: { "s:wait": forEver },
    timeout_ms: 30,
  });
  const state = await story.settled();
  assert.deepEqual([state.status, state.error], ["partial", "the run's time of 30 ms was over"]);
  assert.deepEqual(statuses(state), { quick: "success", slow: "skipped", next: "skipped" });
});

Deno.test("a run that is held gives up what can be done again, finishes what acts, and goes on later", async () => {
  const end = Promise.withResolvers<void>();
  let reads = 0;
  const tools: Record<string, Tool> = {
    "s:get": (args, how) => reads++ === 0 ? forEver(args, how) : value("read"),
    "s:do_it": async () => (await end.promise, value("acted")),
  };
  const story = tell([task("read"), task("act", "s:do_it"), after("next", "read", "act")], { tools });
  setTimeout(() => story.run.hold("nobody waits"), 5);
  setTimeout(end.resolve, 40);
  const held = await story.settled();
  assert.deepEqual([held.status, held.pending?.reason, held.pending?.why], ["paused", "waiting", "nobody waits"]);
  assert.deepEqual(statuses(held), { read: "waiting", act: "success", next: "waiting" });
  const state = await tell([], { tools, from: { fold: story.fold, decision: { action: "continue" } } }).settled();
  assert.deepEqual([state.status, reads], ["completed", 2 + 1]);
});

Deno.test("a run left behind says nothing, and the next runner goes on with it", async () => {
  const story = tell([task("slow", "s:wait"), task("quick")], { tools: { "s:wait": forEver } });
  setTimeout(() => story.run.leave(), 10);
  const left = await story.settled();
  assert.equal(left.status, "running");
  assert.ok(!story.written.some(({ kind }) => kind === "paused" || kind === "finished"));
  const state = await tell([], { from: { fold: story.fold } }).settled();
  assert.deepEqual([state.status, state.tasks.get("slow")?.attempt], ["completed", 2]);
});

Deno.test("pause: layer stops after each, and a continue lets one more go", async () => {
  const story = tell([task("a"), after("b", "a"), after("c", "b"), after("c2", "b")], { pause: "layer" });
  const first = await story.settled();
  assert.deepEqual(statuses(first), { a: "success", b: "waiting", c: "waiting", c2: "waiting" });
  assert.equal(first.pending?.why, "layer 1 of 3 is finished");
  const go = () => tell([], { from: { fold: story.fold, decision: { action: "continue" } } }).settled();
  assert.deepEqual(statuses(await go()), { a: "success", b: "success", c: "waiting", c2: "waiting" });
  assert.equal((await go()).status, "completed");
});

Deno.test("pause: effects stops before what acts, shows the call filled in, and asks once", async () => {
  const acted: unknown[] = [];
  const tools: Record<string, Tool> = { "s:get": () => value(5), "s:do_it": (args) => (acted.push(args), value(null)) };
  const tasks = [
    task("read"),
    task("act", "s:do_it", { arguments: { n: "$OUTPUT[read]" } }),
    task("more", "s:do_it"),
    after("free", "read"),
    task("later", "s:do_it", { depends_on: ["act"] }),
  ];
  const story = tell(tasks, { tools, pause: "effects" });
  const paused = await story.settled();
  assert.deepEqual([paused.pending?.reason, acted.length, paused.tasks.get("free")?.status], ["effects", 0, "success"]);
  assert.deepEqual(paused.pending?.calls.map(({ task }) => task).sort(), ["act", "more"]);
  assert.deepEqual(paused.pending?.calls.find(({ task }) => task === "act")?.arguments, { n: 5 });
  const again = () => tell([], { tools, from: { fold: story.fold, decision: { action: "continue" } } }).settled();
  const second = await again();
  assert.deepEqual([second.status, acted.length, second.pending?.calls[0]?.task], ["paused", 2, "later"]);
  assert.equal((await again()).status, "completed");
});

Deno.test("pause_after stops once the named task has ended, whatever else is ready", async () => {
  const story = tell([task("a"), after("b", "a"), after("c", "b")], { pause_after: ["a", "b"] });
  const first = await story.settled();
  assert.deepEqual([first.pending?.reason, first.pending?.calls], ["after", [{ task: "a" }]]);
  assert.equal(first.tasks.get("b")?.status, "waiting");
  const go = () => tell([], { from: { fold: story.fold, decision: { action: "continue" } } }).settled();
  assert.deepEqual((await go()).pending?.calls, [{ task: "b" }]);
  assert.equal((await go()).status, "completed");
});

Deno.test("an approval is for one exact call, once, and not for ever", async () => {
  let clock = 1_000_000;
  let hash = "h1";
  let acted = 0;
  const ports = {
    isGuarded: () => true,
    approvalFor: () => Promise.resolve({ why: "it is guarded", hash, definition: "d" }),
  };
  const tools: Record<string, Tool> = { "s:do_it": () => (acted++, value(null)) };
  const with_ = { tools, ports, now: () => clock };
  const story = tell([task("act", "s:do_it")], with_);
  const paused = await story.settled();
  assert.deepEqual([paused.pending?.reason, paused.pending?.for, paused.pending?.hash, acted], [
    "approval",
    "human",
    "h1",
    0,
  ]);
  const approve = (what: string, expires: number) =>
    tell([], {
      ...with_,
      from: { fold: story.fold, by: "human", decision: { action: "approve", task: "act", hash: what, expires } },
    }).settled();
  hash = "h2";
  assert.equal((await approve("h1", clock + 1_000)).pending?.hash, "h2", "the call has changed: it is asked for anew");
  clock += 5_000;
  assert.equal((await approve("h2", clock - 1)).status, "paused", "an approval that is too old is none");
  assert.equal(acted, 0);
  assert.equal((await approve("h2", clock + 1_000)).status, "completed");
  assert.equal(acted, 1);
  assert.equal(story.fold.state.approvals.has("h2"), false, "it was used up");
});

Deno.test("while a human thinks others run; a no fails the call, silence pauses the run", async () => {
  const answer = Promise.withResolvers<HumanWord | undefined>();
  const ports = {
    isGuarded: ({ id }: { id: string }) => id === "act",
    approvalFor: () => Promise.resolve({ why: "it is guarded", hash: "h", definition: "d" }),
    askHuman: () => answer.promise,
  };
  const story = tell([task("act", "s:do_it"), ...Array.from({ length: 5 }, (_, i) => task(`r${i}`))], {
    ports,
    caps: { all: 1, perServer: 1 },
  });
  const settled = story.settled();
  await until("the others ran", () => story.fold.state.workflow.tasks.length === 5);
  answer.resolve({ word: "reject" });
  const state = await settled;
  assert.deepEqual([state.status, state.tasks.get("act")?.error], ["partial", "A human did not allow this call"]);
  const silent = await tell([task("act", "s:do_it")], {
    ports: { ...ports, askHuman: () => Promise.reject(new Error()) },
  })
    .settled();
  assert.equal(silent.pending?.reason, "approval");
});

Deno.test("after a crash a call that acts is in doubt, what needs it waits, and the other branches come to their end", async () => {
  for (const [outcome, end] of [["retry", "completed"], ["done", "completed"], ["skip", "partial"]] as const) {
    const calls: string[] = [];
    const tools: Record<string, Tool> = {
      "s:get": () => (calls.push("read"), value(1)),
      "s:do_it": () => (calls.push("act"), value(2)),
    };
    const tasks = [task("read"), task("act", "s:do_it"), after("next", "act")];
    const crashed = createFold();
    const first = plan(tasks, { maxTasks: 10, check: () => [] }).tasks.map((one) => one.task);
    const events = [
      { kind: "planned", tasks: first, options: {} },
      { kind: "started", task: "read", attempt: 1, effect: "read" },
      { kind: "started", task: "act", attempt: 1, effect: "effectful", arguments: { n: 5 } },
    ] as const;
    events.forEach((event, i) => crashed.add({ ...event, seq: i + 1, at: i }));
    const doubtful = await tell([], { tools, from: { fold: crashed } }).settled();
    assert.deepEqual([doubtful.status, doubtful.pending?.reason, calls], ["paused", "in_doubt", ["read"]]);
    assert.deepEqual(
      doubtful.pending?.calls,
      [{ task: "act", tool: "s:do_it", arguments: { n: 5 } }],
      "as it went out",
    );
    if (outcome !== "retry") {
      crashed.add({
        kind: "command",
        by: "agent",
        decision: { action: "resolve", task: "act", outcome },
        seq: crashed.state.seq + 1,
        at: 9,
      });
      crashed.add(
        outcome === "skip" ? { kind: "skipped", task: "act", why: "skipped", seq: crashed.state.seq + 1, at: 9 } : {
          kind: "done",
          task: "act",
          attempt: 1,
          ms: 0,
          bytes: 1,
          output: { kind: "value", value: 3 },
          seq: crashed.state.seq + 1,
          at: 9,
        },
      );
    }
    const decision = outcome === "retry" ? { action: "resolve", task: "act", outcome } as const : undefined;
    const state = await tell([], { tools, from: { fold: crashed, ...decision && { decision } } }).settled();
    assert.equal(state.status, end, outcome);
    assert.equal(calls.filter((call) => call === "act").length, outcome === "retry" ? 1 : 0);
    assert.equal(state.tasks.get("next")?.status, outcome === "skip" ? "skipped" : "success");
  }
});

Deno.test("an interrupted run that is aborted leaves no task behind as running, and one that was done says so", async () => {
  const crashed = tell([task("read", "s:wait"), after("next", "read")], { tools: { "s:wait": forEver } });
  await until("it runs", () => crashed.fold.state.tasks.get("read")?.status === "running");
  const copy = createFold();
  crashed.written.forEach((event) => copy.add(event));
  crashed.run.leave();
  const aborted = await tell([], { from: { fold: copy, decision: { action: "abort" } } }).settled();
  assert.deepEqual([aborted.status, statuses(aborted)], ["aborted", { read: "skipped", next: "skipped" }]);
  const acting = Promise.withResolvers<void>();
  const last = tell([task("act", "s:do_it")], { tools: { "s:do_it": async () => (await acting.promise, value(1)) } });
  setTimeout(() => (last.run.leave(), acting.resolve()), 5);
  assert.equal((await last.settled()).status, "completed");
});

Deno.test("an engine that cannot wait abandons: nothing more is written, and the next finds the doubt", async () => {
  const story = tell([task("act", "s:do_it"), after("next", "act")], { tools: { "s:do_it": forEver } });
  await until("it acts", () => story.fold.state.tasks.get("act")?.status === "running");
  story.run.leave();
  const written = story.written.length;
  story.run.abandon();
  await assert.rejects(story.settled(), { code: "ENGINE_BUSY" });
  await sleep(10);
  assert.equal(story.written.length, written);
  const state = await tell([], { from: { fold: story.fold } }).settled();
  assert.deepEqual([state.status, state.pending?.reason], ["paused", "in_doubt"]);
});

Deno.test("a call that never went out is not in doubt, and a human is not asked after the end", async () => {
  let asked = 0;
  const ports = {
    callTool: (_task: unknown, _args: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise<TaskResult>((resolve) => signal.addEventListener("abort", () => resolve(failure("not started")))),
  };
  const starting = tell([task("act", "s:do_it")], { ports });
  setTimeout(() => starting.run.decide({ action: "abort" }, "agent"), 10);
  assert.deepEqual(statuses(await starting.settled()), { act: "skipped" });
  const slow = tell([task("big", "s:big"), task("act", "s:do_it", { arguments: { x: "$OUTPUT[big]" } })], {
    tools: {
      "s:big": () => ({
        ok: true,
        bytes: 1,
        output: { kind: "stored", handle: "r", steps: [], shape: "", preview: "" },
      }),
    },
    ports: {
      load: async (_handle: string, places: readonly unknown[]) => (await sleep(50), places.map(() => 1)),
      isGuarded: ({ id }: { id: string }) => id === "act",
      approvalFor: () => Promise.resolve({ why: "w", hash: "h", definition: "d" }),
      askHuman: () => (asked++, new Promise<never>(() => {})),
    },
  });
  setTimeout(() => slow.run.decide({ action: "abort" }, "agent"), 20);
  assert.deepEqual([(await slow.settled()).status, asked], ["aborted", 0]);
});

Deno.test("tasks can be added while it runs, once, and may use what is there", async () => {
  const gate = Promise.withResolvers<void>();
  const tools: Record<string, Tool> = {
    "s:slow": async () => (await gate.promise, value("slow")),
    "s:get": (args) => value(args.x ?? null),
  };
  const story = tell([task("slow", "s:slow")], { tools });
  const settled = story.settled();
  const more = [task("new", "s:get", { arguments: { x: "$OUTPUT[slow]" } })];
  const bigger = plan([...story.fold.state.plan, ...more], { maxTasks: 10, check: () => [] });
  story.run.decide({ action: "inject", tasks: 1 }, "agent", bigger);
  assert.throws(
    () =>
      story.run.decide(
        { action: "inject", tasks: 1 },
        "agent",
        plan(more.map(({ tool, id }) => ({ id, tool })), { maxTasks: 9, check: () => [] }),
      ),
    {
      code: "RUN_STATE",
    },
  );
  gate.resolve();
  const state = await settled;
  assert.deepEqual(state.tasks.get("new")?.output, { kind: "value", value: "slow" });
});

Deno.test("an unanswered question pauses the run, and the call is made again when it goes on", async () => {
  let asked = 0;
  const tools: Record<string, Tool> = {
    "s:do_it": () => asked++ === 0 ? failure("it asks: who are you?", "question") : value("ok"),
  };
  const story = tell([task("act", "s:do_it"), task("other")], { tools });
  const paused = await story.settled();
  assert.deepEqual([paused.pending?.reason, paused.pending?.for, paused.pending?.why], [
    "question",
    "human",
    "it asks: who are you?",
  ]);
  assert.equal(paused.tasks.get("other")?.status, "success");
  const state = await tell([], { tools, from: { fold: story.fold, decision: { action: "continue" } } }).settled();
  assert.deepEqual([state.status, asked], ["completed", 2]);
});

Deno.test("stored outputs are read only where a reference leads, and a path that is not there fails its task", async () => {
  const loads: unknown[] = [];
  const ports = {
    load: (handle: string, places: readonly { steps: readonly (string | number)[] }[]) => {
      loads.push([handle, places.map(({ steps }) => steps)]);
      return Promise.resolve(places.map(() => "part"));
    },
  };
  const tools: Record<string, Tool> = {
    "s:big": () => ({
      ok: true,
      bytes: 20_000_000,
      output: { kind: "stored", handle: "r_1", steps: ["in"], shape: "", preview: "" },
    }),
    "s:get": (args) => value(args),
  };
  const state = await tell([
    task("big", "s:big"),
    task("use", "s:get", {
      arguments: {
        a: "<$OUTPUT[big].rows[3]>",
        b: "$RESULT[r_2].x",
        c: ["$OUTPUT[big].rows[3]", "$OUTPUT[big].rows[4]"],
      },
    }),
    task("bad", "s:get", { arguments: { a: "$OUTPUT[use].nothing" } }),
  ], { tools, ports }).settled();
  assert.deepEqual(state.tasks.get("use")?.output, {
    kind: "value",
    value: { a: "<part>", b: "part", c: ["part", "part"] },
  });
  assert.deepEqual(loads, [["r_1", [["in", "rows", 3], ["in", "rows", 4]]], ["r_2", [["x"]]]], "each is read once");
  assert.match(state.tasks.get("bad")!.error!, /leads nowhere: \$OUTPUT\[use\] has a, b, c/);
});

Deno.test("the journal alone tells the state: folding twice, or from a snapshot, gives the same", async () => {
  const random = seeded(7);
  for (let round = 0; round < 30; round++) {
    const count = 5 + random.below(30);
    const tasks = Array.from(
      { length: count },
      (_, i) =>
        task(`t${i}`, random.below(10) < 3 ? "s:do_x" : random.below(10) < 2 ? "s:bad" : "s:get", {
          depends_on: i === 0 ? [] : [...new Set(Array.from({ length: random.below(4) }, () => `t${random.below(i)}`))],
        }),
    );
    const story = tell(tasks, { tools: { "s:bad": () => failure("no") }, pause: round % 3 === 0 ? "layer" : "never" });
    const state = await story.settled();
    const hash = async (one: typeof state) => await sha256(canonicalJson(snapshotOf(one)));
    const whole = folded(story.written);
    assert.equal(await hash(whole), await hash(state), "what the runner believes is what the journal says");
    assert.equal(await hash(folded(story.written)), await hash(whole));
    const cut = random.below(story.written.length);
    const early = createFold();
    story.written.slice(0, cut).forEach((event) => early.add(event));
    const revived = createFold(JSON.parse(JSON.stringify(snapshotOf(early.state))));
    story.written.forEach((event) => revived.add(event));
    assert.equal(await hash(revived.state), await hash(whole), "from a snapshot, rows it holds already included");
  }
});

Deno.test("ten thousand tasks, in a row or side by side, take neither long nor too deep a stack", async () => {
  const row = Array.from(
    { length: 10_000 },
    (_, i) => task(`t${i}`, i === 0 ? "s:bad" : "s:get", { depends_on: i ? [`t${i - 1}`] : [] }),
  );
  const began = performance.now();
  const failed = await tell(row, { tools: { "s:bad": () => failure("no") } }).settled();
  assert.equal(failed.tasks.get("t9999")?.status, "skipped");
  const wide = await tell(row.map(({ id }) => task(id)), { caps: { all: 64, perServer: 64 } }).settled();
  assert.equal(wide.status, "completed");
  assert.ok(performance.now() - began < 10_000, `${performance.now() - began} ms`);
});

Deno.test("a task that was let go and failed waits for a word again when it is replaced or retried", async () => {
  const calls: string[] = [];
  const tools: Record<string, Tool> = {
    "s:do_it": () => (calls.push("it"), failure("no luck")),
    "s:do_other": () => (calls.push("other"), value(1)),
  };
  const story = tell([task("a", "s:do_it")], { tools, pause: "effects" });
  await story.settled();
  const go = (decision: Decision) => tell([], { tools, from: { fold: story.fold, decision } }).settled();
  assert.equal((await go({ action: "continue" })).status, "failed");
  assert.equal((await go({ action: "retry", reset: ["a"] })).pending?.reason, "effects");
  assert.deepEqual(calls, ["it"]);
});

Deno.test("a task that is retried has its automatic retries anew", async () => {
  let tries = 0;
  const tools: Record<string, Tool> = { "s:get": () => (tries++, failure("gone", "lost")) };
  const story = tell([task("a", "s:get", { retries: 1 })], { tools });
  await story.settled();
  assert.equal(tries, 2);
  await tell([], { tools, from: { fold: story.fold, decision: { action: "retry", reset: ["a"] } } }).settled();
  assert.equal(tries, 4);
});

Deno.test("a run whose last call still succeeds when its time is over says nothing of time", async () => {
  const slow: Tool = async () => {
    await new Promise((resolve) => setTimeout(resolve, 60));
    return value(1);
  };
  const state = await tell([task("a", "s:get")], { tools: { "s:get": slow }, timeout_ms: 20 }).settled();
  assert.equal(state.error === undefined, state.status === "completed", `${state.status}: ${state.error}`);
});
