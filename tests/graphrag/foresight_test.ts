import assert from "node:assert/strict";
import { callName, createForesight } from "../../src/graphrag/foresight.ts";
import { fill, flowsOf, leavesOf, recipeOf, type Remembered } from "../../src/graphrag/recipe.ts";
import type { JsonObject } from "../../src/model/json.ts";

const call = (tool: string, args: JsonObject = {}, output?: unknown): Remembered => ({
  tool,
  call: callName(tool, args) ?? "",
  arguments: args,
  ...output !== undefined && { leaves: leavesOf(output) },
});
type Foresight = ReturnType<typeof createForesight>;
const learn = (foresight: Foresight, before: Remembered[], next: Remembered) =>
  foresight.learn(before, next, recipeOf(next, before));
const issues = (prefix: string) => ({ items: [1, 2, 3].map((n) => ({ id: `${prefix}-${n}`, number: n })) });

Deno.test("a call is explained by what earlier calls gave and were given, else by itself", () => {
  const list = call("list", { repo: "acme/site" }, issues("ISSUE"));
  const recipe = recipeOf(call("get", { repo: "acme/site", issue_id: "ISSUE-1", full: true }), [list]);
  assert.deepEqual(recipe.arguments, {
    repo: { kind: "argument", of: "list", name: "repo" },
    issue_id: { kind: "output", of: "list", path: ["items", "[]", "id"], pick: "first" },
    full: { kind: "constant", value: true },
  });
  assert.deepEqual(flowsOf(recipe), [{ from: "list", path: "items[].id", to: "issue_id" }]);
  const other = call("list", { repo: "acme/app" }, issues("BUG"));
  assert.deepEqual(fill(recipe, [other]), { repo: "acme/app", issue_id: "BUG-1", full: true });
  assert.equal(fill(recipe, []), undefined, "without what it needs there is nothing to foresee");
  assert.equal(fill(recipe, [call("list", { repo: "x" }, { items: [] })]), undefined);
});

Deno.test("one of a list after another: the next is the one after the last", () => {
  const list = call("list", {}, issues("ISSUE"));
  const first = call("get", { issue_id: "ISSUE-1" });
  const recipe = recipeOf(call("get", { issue_id: "ISSUE-2" }), [list, first]);
  assert.deepEqual(recipe.arguments.issue_id, {
    kind: "output",
    of: "list",
    path: ["items", "[]", "id"],
    pick: "next",
  });
  assert.deepEqual(fill(recipe, [list, first, call("get", { issue_id: "ISSUE-2" })]), { issue_id: "ISSUE-3" });
  assert.equal(fill(recipe, [list, call("get", { issue_id: "ISSUE-3" })]), undefined, "the list has an end");
});

Deno.test("a short value is the same by chance unless the names fit", () => {
  const list = call("list", {}, { total: 3, items: [{ number: 7 }] });
  assert.equal(recipeOf(call("get", { page: 3 }), [list]).arguments.page!.kind, "constant");
  assert.equal(recipeOf(call("get", { issue_number: 7 }), [list]).arguments.issue_number!.kind, "output");
});

Deno.test("what was foreseen is counted as it comes true, and not otherwise", () => {
  const foresight = createForesight();
  for (const name of ["A", "B", "C", "D"]) {
    learn(foresight, [call("list", { q: name }, issues(name))], call("get", { issue_id: `${name}-1` }));
  }
  const before = [call("list", { q: "E" }, issues("E"))];
  const [first] = foresight.foresee(before);
  assert.deepEqual([first!.tool, first!.arguments], ["get", { issue_id: "E-1" }]);
  assert.ok(first!.bound > 0.7, String(first!.bound));
  for (let i = 0; i < 3; i++) learn(foresight, [call("list", { q: `${i}` }, issues(`X${i}`))], call("stop"));
  const again = foresight.foresee(before).find(({ tool }) => tool === "get");
  assert.ok(again!.bound < 0.5, "it did not come true lately");
});

Deno.test("what is learned outlives being written down", () => {
  const [one, two] = [createForesight(), createForesight()];
  for (const name of ["A", "B"]) {
    const { changed } = learn(one, [call("list", { q: name }, issues(name))], call("get", { issue_id: `${name}-1` }));
    for (const record of changed) two.restore(JSON.parse(JSON.stringify(record)));
  }
  const before = [call("list", { q: "E" }, issues("E"))];
  assert.deepEqual(two.foresee(before), one.foresee(before));
});

Deno.test("a call too long to be named is like no other, and what one server gave goes to no other", () => {
  assert.equal(callName("get", { text: "x".repeat(700) }), undefined);
  const foresight = createForesight();
  for (let i = 0; i < 6; i++) {
    learn(foresight, [call("a:list", {})], call("a:get", { text: "x".repeat(700) }));
    learn(
      foresight,
      [call("a:list", { n: i }, { url: `https://acme.io/${i}` })],
      call("b:fetch", { url: `https://acme.io/${i}` }),
    );
  }
  const before = [call("a:list", { n: 9 }, { url: "https://evil.example" })];
  assert.deepEqual(foresight.foresee(before), []);
});

Deno.test("no place remembers more ways than a few, also when they come out of a table", () => {
  const foresight = createForesight();
  const forgotten = Array.from(
    { length: 30 },
    (_, i) => learn(foresight, [call("list")], call("get", { n: `value ${i}` })),
  )
    .flatMap((change) => change.forgotten);
  assert.ok(forgotten.length >= 20);
  assert.ok(foresight.foresee([call("list")]).length <= 8);
  const restored = createForesight();
  for (let i = 0; i < 100; i++) {
    const recipe = { tool: "get", arguments: { n: { kind: "constant" as const, value: i } } };
    restored.restore({ place: "tool list", recipe, hits: 1, trials: 2 });
  }
  assert.ok(restored.foresee([call("list")]).length <= 8);
});

Deno.test("large and odd outputs cost little and break nothing", () => {
  const wide = { rows: Array.from({ length: 50_000 }, (_, i) => ({ id: `row-${i}`, text: "x".repeat(20) })) };
  let deep: unknown = "end";
  for (let i = 0; i < 5_000; i++) deep = { deep };
  const began = performance.now();
  for (const output of [wide, deep, null, "text", 5, [[[]]], { __proto__: null, constructor: "c" }]) {
    const before = [call("list", {}, output)];
    const recipe = recipeOf(call("get", { id: "row-40000", ["__proto__"]: "x" } as JsonObject), before);
    fill(recipe, before);
  }
  const keys = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, 1]));
  assert.ok(leavesOf(keys).length <= 500);
  assert.deepEqual(
    leavesOf({ ["a\u0000b"]: 1, ["\u001b]0;x"]: 2, ["x".repeat(200)]: 3, ok: 4 }).map(({ value }) => value),
    [4],
  );
  assert.ok(performance.now() - began < 500, `${performance.now() - began} ms`);
});
