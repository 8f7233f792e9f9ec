import assert from "node:assert/strict";
import { compile } from "../../src/dag/condition/cel.ts";

const deps = {
  a: { status: "success", output: { n: 5, s: "x", l: [1, 2, { f: true }], deep: { k: null } }, error: null },
  "b-1": { status: "error", output: null, error: "no such file" },
};
const holds = (text: string) => compile(text, "when").holds({ deps, input: { day: "Monday", limit: 3 } });

Deno.test("a condition reads statuses, outputs, errors and the input", () => {
  const all: [string, boolean][] = [
    ["deps.a.status == 'success' && deps['b-1'].status == 'error'", true],
    ["deps.a.output.n > 3", true],
    ["deps.a.output.n == 5", true],
    ["deps.a.output.n % 2 == 0", false],
    ["deps.a.output.n + 1 > input.limit * 1.5", true],
    ["deps.a.output.l.exists(i, i == 2)", true],
    ["deps.a.output.l.exists(i, i.f == true)", true],
    ["size(deps.a.output.l) == 3", true],
    ["deps['b-1'].error.contains('no such')", true],
    ["input.day in ['Monday', 'Friday']", true],
    ["has(deps.a.output.n)", true],
    ["'n' in deps.a.output", true],
  ];
  for (const [text, expected] of all) assert.equal(holds(text), expected, text);
});

Deno.test("an absent key is null, and comparisons with null are false", () => {
  const all: [string, boolean][] = [
    ["deps.a.output.missing == null", true],
    ["deps.a.output.missing.further.away == null", true],
    ["deps['b-1'].output.n > 3", false],
    ["deps.a.output.missing <= 3", false],
    ["deps.a.error < deps.a.output.missing", false],
    ["deps.a.output.missing != 3", true],
    ["deps.a.output.l[7] == null", true],
    ["deps.a.output.l.all(i, i.f == true)", false],
    ["deps.a.output.l.filter(i, i.f == true).size() == 1", true],
    ["has(deps.a.output.missing)", false],
    ["has(deps.a.output.missing.further)", false],
    ["'missing' in deps.a.output", false],
  ];
  for (const [text, expected] of all) assert.equal(holds(text), expected, text);
});

Deno.test("a condition names its tasks", () => {
  const { names } = compile("deps.a.output.l.all(i, i == deps['b-1'].output) && has(deps.c.output.x)", "when");
  assert.deepEqual([...names].sort(), ["a", "b-1", "c"]);
});

Deno.test("a text that is no condition is refused with its reason", () => {
  const all: [string, RegExp][] = [
    ["deps.a.output.n >", /is no condition/],
    ["deps.a.output.s.matches('(a+)+$')", /matches\(\) is not available/],
    ["size(deps) > 1", /deps takes the id of a task/],
    ["deps[input.which].status == 'error'", /deps takes the id of a task/],
    ["outputs.n > 1", /outputs/],
    ["output.n > 1", /output/],
    ["1 + 1", /gives a value of type int/],
    ["'yes'", /type string/],
  ];
  for (const [text, problem] of all) assert.throws(() => compile(text, "when"), problem, text);
  assert.throws(() => holds("deps.a.output.n"), /gives a number, not true or false/);
  assert.throws(() => holds("deps.a.output.s > 3"), /cannot be evaluated/);
});

Deno.test("a condition ends soon, whatever it is given", () => {
  const list = Array.from({ length: 20_000 }, (_, i) => i);
  const nested = compile("output.all(a, output.all(b, a + b >= 0))", "until");
  const before = performance.now();
  assert.throws(() => nested.holds({ output: list, input: {} }), /more than 100000 elements/);
  assert.ok(performance.now() - before < 2_000);
  assert.throws(() => compile("(".repeat(60) + "true" + ")".repeat(60), "until"), /is no condition/);
});

Deno.test("a condition tells which place it reads in vain, and what is there instead", () => {
  const absent = (text: string) => compile(text, "when").absent({ deps, input: { day: "Monday" } });
  assert.equal(
    absent("deps.a.output.state == 'ready'"),
    "deps.a.output has n, s, l, deep, so deps.a.output.state is null",
  );
  assert.equal(absent("deps['b-1'].output.n > 3"), 'deps["b-1"].output is null, so deps["b-1"].output.n is null');
  assert.equal(absent("input.day == 'x' || input['a b'].c > 1"), 'input has day, so input["a b"].c is null');
  assert.equal(absent("deps.a.output.l[7] > 1"), "deps.a.output.l is a list of 3, so deps.a.output.l[7] is null");
  for (const text of ["has(deps.a.output.x)", "deps.a.output.x == null", "deps.a.output.l.exists(i, i.f == true)"]) {
    assert.equal(absent(text), undefined, text);
  }
});
