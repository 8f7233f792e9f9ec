// Conditions, polls, approvals and priorities, with tools that are functions of the test.
import assert from "node:assert/strict";
import { loadConditions } from "../../src/dag/condition/conditions.ts";
import { createPlaces } from "../../src/dag/ready_queue.ts";
import type { JsonObject } from "../../src/model/json.ts";
import { until } from "../fixtures/gateway.ts";
import { failure, folded, statuses, type StoryOptions, tell, type Tool, value } from "./harness.ts";

await loadConditions([{ when: "true" }]);

const task = (id: string, more: JsonObject = {}) => ({ id, tool: `s:${id}`, ...more });
const when = (id: string, condition: string, more: JsonObject = {}) => task(id, { when: condition, ...more });

async function ran(tasks: unknown[], failing: readonly string[] = [], options: StoryOptions = {}) {
  const called: string[] = [];
  const tools = new Proxy<Record<string, Tool>>({}, {
    get: (_, tool: string) => () => {
      const id = tool.slice(2);
      called.push(id);
      return failing.includes(id) ? failure("it broke") : value({ n: 1 });
    },
  });
  const story = tell(tasks, { tools, ...options });
  const state = await story.settled();
  assert.deepEqual(folded(story.written).tasks, state.tasks, "the rows say the same");
  return { status: state.status, called, tasks: statuses(state), error: state.error, state };
}

Deno.test("a condition decides which way a run takes", async () => {
  const tasks = [
    task("look"),
    when("yes", "deps.look.output.n == 1"),
    when("no", "deps.look.output.n == 2"),
    task("after", { depends_on: ["no"] }),
  ];
  const { status, called, tasks: ends } = await ran(tasks);
  assert.equal(status, "completed", "an end that was skipped by a condition counts as succeeded");
  assert.deepEqual(called, ["look", "yes"]);
  assert.deepEqual([ends.no, ends.after], ["skipped", "skipped"]);
});

Deno.test("a condition takes a failure up; what nobody takes up fails the run", async () => {
  const good = when("good", "deps.build.status == 'success'");
  const bad = when("bad", "deps.build.status != 'success'");
  assert.deepEqual((await ran([task("build"), good, bad])).status, "completed");
  const taken = await ran([task("build"), good, bad], ["build"]);
  assert.deepEqual([taken.status, taken.called], ["completed", ["build", "bad"]]);
  // The condition that named the failure was false, and no other task took it up.
  const left = await ran([task("build"), good], ["build"]);
  assert.deepEqual([left.status, left.error], ["failed", "build failed; good skipped"]);
  const further = await ran([task("build"), good, task("more", { depends_on: ["good"] }), task("other")], ["build"]);
  assert.equal(further.status, "partial");
  // What needs the task itself fails, whoever else took its failure up.
  const needing = await ran([task("build"), bad, task("ship", { depends_on: ["build"] })], ["build"]);
  assert.deepEqual([needing.status, needing.error], ["partial", "build failed; ship skipped"]);
});

Deno.test("tasks that a condition does not name must have succeeded", async () => {
  const tasks = [task("a"), task("b"), when("c", "deps.a.status == 'error'", { depends_on: ["b"] })];
  assert.deepEqual((await ran(tasks, ["a"])).called, ["a", "b", "c"]);
  const { status, tasks: ends } = await ran(tasks, ["a", "b"]);
  assert.deepEqual([status, ends.c], ["failed", "skipped"]);
});

Deno.test("a condition that cannot be evaluated is an error of its task", async () => {
  const { status, state } = await ran([task("a"), when("b", "deps.a.output.n + deps.a.status")]);
  assert.equal(status, "failed");
  assert.match(state.tasks.get("b")!.error!, /cannot be evaluated: no such overload/);
  assert.equal((await ran([task("a"), when("b", "deps.a.output.n")])).tasks.b, "error");
  const plan = (condition: string) => () => tell([task("a"), when("b", condition)]);
  assert.throws(plan("deps.c.status == 'error'"), /task b waits for c, which is not there/);
  assert.throws(plan("deps.a.status ="), /task b: "deps.a.status =" is no condition/);
  assert.throws(() => tell([when("a", "deps.a.status == 'error'")]), /waits for itself/);
});

Deno.test("a condition reads the input of a saved workflow", async () => {
  const tasks = [when("a", "input.depth > 2"), when("b", "input.missing == null")];
  assert.deepEqual((await ran(tasks, [], { input: { depth: 3 } })).called, ["a", "b"]);
  assert.deepEqual((await ran(tasks, [], { input: { depth: 2 } })).called, ["b"]);
});

Deno.test("a poll calls again until its condition holds, or its times are used up", async () => {
  let calls = 0;
  const check: Tool = () => value({ state: ++calls < 4 ? "running" : "green" });
  const poll = (times: number) => ({
    ...task("check", { until: { when: "output.state == 'green'", every_ms: 1, times } }),
  });
  const tasks = (
    times: number,
  ) => [poll(times), task("ship", { depends_on: ["check"], arguments: { s: "$OUTPUT[check].state" } })];
  const story = tell(tasks(10), { tools: { "s:check": check } });
  const state = await story.settled();
  assert.deepEqual([state.status, calls, state.tasks.get("check")!.attempt], ["completed", 4, 4]);
  assert.equal(story.written.filter(({ kind }) => kind === "started").length, 5, "each attempt has its row");
  calls = 0;
  const given = await tell(tasks(3), { tools: { "s:check": check } }).settled();
  assert.deepEqual([given.status, calls], ["failed", 3]);
  assert.match(given.tasks.get("check")!.error!, /not yet: output.state == 'green'; it was called 3 times/);
});

Deno.test("a poll goes on where a crash left it, and does not keep a pause waiting", async () => {
  let calls = 0;
  const tools: Record<string, Tool> = { "s:check": () => value({ n: ++calls }) };
  const tasks = [task("check", { until: { when: "output.n >= 5", every_ms: 40, times: 5 } })];
  const first = tell(tasks, { tools });
  await until("two calls", () => calls === 2);
  first.run.hold("the engine stops");
  const rested = await first.settled();
  assert.deepEqual([rested.status, rested.tasks.get("check")!.polls], ["paused", 2]);
  const began = performance.now();
  const state = await tell([], { tools, from: { fold: first.fold } }).settled();
  assert.deepEqual([state.status, calls], ["completed", 5], "its times are those that are left");
  assert.ok(performance.now() - began >= 80, "it keeps its interval");
  const slow = task("slow", { until: { when: "output.n < 0", every_ms: 3_600_000, times: 2 } });
  const paused = await tell([slow, task("a")], { tools, pause_after: ["a"] }).settled();
  assert.equal(paused.pending?.reason, "after");
});

Deno.test("runs share the places on a server, and the higher priority gets the next one", async () => {
  const order: string[] = [];
  const shared = createPlaces(1);
  const gate = Promise.withResolvers<void>();
  const story = (name: string, priority: number) =>
    tell([{ id: "x", tool: "s:x" }, { id: "y", tool: "s:y", depends_on: ["x"] }], {
      priority,
      places: shared,
      tools: {
        "s:x": async () => (await gate.promise, order.push(`${name}x`), value(1)),
        "s:y": () => (order.push(`${name}y`), value(1)),
      },
    });
  const runs = [story("low", 1), story("high", 5), story("mid", 3)].map((one) => one.settled());
  await Promise.resolve().then(() => gate.resolve());
  await Promise.all(runs);
  assert.deepEqual(order, ["lowx", "highx", "midx", "highy", "midy", "lowy"]);
});
