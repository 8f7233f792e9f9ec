import assert from "node:assert/strict";
import { lowerBound } from "../../src/graphrag/bound.ts";
import { createBudget } from "../../src/graphrag/budget.ts";
import { createDependencies, reliability } from "../../src/graphrag/dependency.ts";
import { buildGraph } from "../../src/graphrag/graph.ts";
import { createHabits, type Step } from "../../src/graphrag/habits.ts";
import { modeFor, type Outcome, speculateAt, withOutcome } from "../../src/graphrag/threshold.ts";

const step = (tool: string, args = ""): Step => ({ tool, call: `${tool} ${args}` });
const trail = (steps: Step[], words: string[] = []) => ({ steps, request: new Set(words) });

Deno.test("what may be counted on grows with what was seen, and is never more than that", () => {
  assert.equal(lowerBound(1, 1).toFixed(2), "0.45");
  assert.equal(lowerBound(5, 5).toFixed(2), "0.76");
  assert.ok(lowerBound(20, 20) > 0.92);
  assert.ok(lowerBound(0, 10) < 0.03);
  for (const [hits, trials] of [[3, 5], [50, 60], [900, 1_000]] as const) {
    assert.ok(lowerBound(hits, trials) < hits / trials, `${hits} of ${trials}`);
  }
});

Deno.test("a tool is expected where it came before: by trail, by exact call, by words", () => {
  const habits = createHabits();
  for (let i = 0; i < 6; i++) {
    habits.learn(trail([step("list")]), step("get"));
    habits.learn(trail([step("list"), step("get")]), step("close"));
  }
  assert.equal(habits.predict(trail([step("list")]), 1)[0]!.tool, "get");
  assert.equal(habits.predict(trail([step("list"), step("get")]), 1)[0]!.tool, "close");
  habits.learn(trail([step("list", "mail")]), step("send"));
  assert.equal(habits.predict(trail([step("list", "mail")]), 1)[0]!.tool, "send", "the very same call counts more");
  for (let i = 0; i < 4; i++) habits.learn(trail([step("start")], ["invoice"]), step("bill"));
  for (let i = 0; i < 4; i++) habits.learn(trail([step("start")], ["holiday"]), step("book"));
  assert.equal(habits.predict(trail([step("start")], ["invoice"]), 1)[0]!.tool, "bill");
  assert.equal(habits.predict(trail([step("start")], ["holiday"]), 1)[0]!.tool, "book");
  const [sure] = habits.predict(trail([step("list"), step("get")]), 1);
  assert.ok(sure!.confidence > 0.8 && sure!.bound > 0.7, JSON.stringify(sure));
  assert.deepEqual(createHabits().predict(trail([step("list")]), 3), []);
});

Deno.test("calls and values that are new each time are not kept, and push nothing else out", () => {
  const habits = createHabits();
  const kept = new Set<string>();
  for (let i = 0; i < 500; i++) {
    for (const [place] of habits.learn(trail([{ tool: "x", call: `x ${i}` }]), step("y"))) kept.add(place);
    habits.note(["value", "x", "id"], `v${i}`);
    habits.note(["value", "x", "id"], "usual");
  }
  assert.ok(kept.size < 10, [...kept].join("; "));
  const { next } = habits.seen(["value", "x", "id"]);
  assert.ok(next.length <= 64);
  assert.equal(next[0]![0], "usual");
});

Deno.test("what is kept and put back predicts the same", () => {
  const [first, second] = [createHabits(), createHabits()];
  const rows = new Map<string, number>();
  for (const next of ["a", "b", "a", "a"]) {
    for (const row of first.learn(trail([step("x")], ["word"]), step(next))) {
      const key = JSON.stringify(row);
      rows.set(key, (rows.get(key) ?? 0) + 1);
    }
  }
  for (const [key, count] of rows) {
    const [place, next] = JSON.parse(key);
    second.restore(place, next, count);
  }
  assert.deepEqual(second.predict(trail([step("x")], ["word"]), 3), first.predict(trail([step("x")], ["word"]), 3));
});

Deno.test("no more is risked than a tenth of the time of all calls, what is under way included", () => {
  const budget = createBudget({ share: 0.1, calls: 20 });
  assert.equal(budget.allows(10), false, "nothing has been called yet");
  for (let i = 0; i < 10; i++) budget.note(10);
  assert.equal(budget.allows(10), true);
  const end = budget.risk(10);
  assert.equal(budget.allows(10), false, "one is under way");
  end({ used: true, ms: 10 });
  assert.equal(budget.allows(10), true, "it was of use");
  budget.risk(10)({ used: false, ms: 10 });
  assert.equal(budget.allows(10), false, "it was wasted");
  for (let i = 0; i < 25; i++) budget.note(10);
  assert.equal(budget.allows(10), true, "that is long ago");
});

Deno.test("suggestions are run at once from 0.92 on, and from where they were right once enough is known", () => {
  assert.equal(modeFor(0.69, []), "explicit_required");
  assert.equal(modeFor(0.7, []), "suggestion");
  assert.equal(modeFor(0.92, []), "speculative_execution");
  const many = (confidence: number, right: boolean, count: number) =>
    Array.from({ length: count }, (): Outcome => ({ confidence, right }));
  assert.equal(speculateAt(many(0.86, true, 49)), 0.92, "too few to change anything");
  assert.equal(speculateAt(many(0.86, true, 60)), 0.85, "always right: as low as it goes");
  assert.equal(speculateAt([...many(0.9, false, 30), ...many(0.97, true, 30)]), 0.91);
  assert.equal(speculateAt(many(0.98, false, 60)), 0.99, "always wrong: as high as it goes");
  assert.equal(many(0.9, true, 120).reduce<Outcome[]>(withOutcome, []).length, 100);
});

Deno.test("pairs that fail lose rank; the graph finds neighbours and ways", () => {
  const dependencies = createDependencies();
  for (let i = 0; i < 3; i++) dependencies.note({ source: "a", target: "b", path: "" }, true);
  for (let i = 0; i < 3; i++) dependencies.note({ source: "a", target: "c", path: "" }, false);
  dependencies.note({ source: "b", target: "d", path: "items[].id → id" }, true);
  const graph = buildGraph(dependencies.all());
  assert.deepEqual(graph.neighbours("a").map(({ tool }) => tool), ["b", "c"]);
  assert.ok(reliability({ seen: 3, failed: 3 }) < reliability({ seen: 1, failed: 0 }));
  assert.deepEqual(graph.path("a", "d"), ["a", "b", "d"]);
  assert.equal(graph.path("d", "a"), undefined);
  assert.equal(graph.path("a", "nowhere"), undefined);
  assert.match(graph.dot(), /subgraph cluster_\d+ \{[^}]*"a"/);
  assert.match(buildGraph([]).dot(), /^digraph/);
});

Deno.test("how often tools are used at all outlives everything else that is remembered", () => {
  const habits = createHabits();
  habits.restore("any", "B", 100);
  for (let i = 0; i < 12_000; i++) habits.restore(`tool\u001f${i}`, "C", 2);
  habits.restore("any", "A", 1);
  assert.deepEqual(habits.seen(["any"]), { total: 101, next: [["B", 100], ["A", 1]] });
});
