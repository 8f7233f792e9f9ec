import assert from "node:assert/strict";
import { plan, type PlanOptions } from "../../src/dag/plan.ts";
import { AgentCardsError } from "../../src/model/errors.ts";

const OPTIONS: PlanOptions = { maxTasks: 1_000, check: () => [] };
const tool = (id: string, ...depends_on: string[]) => ({ id, tool: "s:t", depends_on });
const ids = (tasks: unknown, options = OPTIONS) => plan(tasks, options).tasks.map(({ task }) => task.id);

function problem(tasks: unknown, options = OPTIONS): string {
  try {
    plan(tasks, options);
  } catch (error) {
    assert.ok(error instanceof AgentCardsError && error.code === "PLAN_INVALID");
    return error.message;
  }
  return assert.fail("it should not be planned");
}

Deno.test("tasks come after what they wait for, with layers and heights, frozen", () => {
  const made = plan([tool("d", "b", "c"), tool("b", "a"), tool("c", "a"), tool("a"), tool("alone")], OPTIONS);
  assert.deepEqual(made.tasks.map(({ task }) => task.id), ["a", "alone", "b", "c", "d"]);
  assert.deepEqual(made.tasks.map(({ layer }) => layer), [0, 0, 1, 1, 2]);
  assert.deepEqual(made.tasks.map(({ height }) => height), [3, 1, 2, 2, 1]);
  assert.equal(made.layers, 3);
  assert.ok(Object.isFrozen(made.tasks[0]!.task));
});

Deno.test("dag-012: a reference is a dependency, in arguments and in the context of code", () => {
  const tasks = [
    { id: "late", tool: "s:t", arguments: { deep: [{ x: "say $OUTPUT[early].name" }] } },
    { id: "code", type: "code_execution", code: "return 1", context: { y: "$OUTPUT[late]" } },
    tool("early"),
  ];
  assert.deepEqual(ids(tasks), ["early", "late", "code"]);
  assert.deepEqual(plan(tasks, OPTIONS).tasks[1]!.task.depends_on, ["early"]);
});

Deno.test("dag-001, 003, 004, 009, 011: every problem is named at once, and nothing is planned", () => {
  const said = problem([
    tool("a", "b"),
    tool("b", "c"),
    tool("c", "a"),
    tool("twice"),
    tool("twice"),
    tool("lost", "twicee"),
    { id: "me", tool: "s:t", arguments: { x: "$OUTPUT[me]" } },
    { id: "away", tool: "s:t", arguments: { x: "$OUTPUT[missing].x" } },
    { id: "half", tool: "s:t", arguments: { x: "$OUTPUT[" } },
    { id: "odd", tool: "s:t", colour: "red", timeout_ms: -1 },
  ], { ...OPTIONS, check: ({ id }) => id === "lost" ? ["there is no tool s:t"] : [] });
  for (
    const part of [
      /they wait for each other: (a → b → c → a|b → c → a → b|c → a → b → c)/,
      /2 tasks are called twice/,
      /task lost waits for twicee, which is not there; did you mean twice\?/,
      /task me waits for itself/,
      /task away waits for missing, which is not there/,
      /task half: \$OUTPUT\[ is not a reference/,
      /task odd: .*timeout_ms/,
      /colour/,
      /task lost: there is no tool s:t/,
    ]
  ) assert.match(said, part);
});

Deno.test("dag-005, 015: what is no list of tasks, and ids that are none, are refused", () => {
  for (const tasks of [null, undefined, {}, "x", 7, []]) assert.match(problem(tasks), /tasks must be a list/);
  for (
    const id of [
      "",
      " ",
      "__proto__",
      "constructor",
      "toString",
      "hasOwnProperty",
      "x".repeat(65),
      "a b",
      "é",
      "🙂",
      5,
      null,
    ]
  ) {
    assert.match(problem([{ id, tool: "s:t" }]), /task number 1: /, String(id));
  }
  assert.match(problem([null, 3, [], { id: "a" }]), /task number 1.*task number 2.*task number 3.*task a/s);
});

Deno.test("dag-006: ten thousand tasks are planned within a second, and more than allowed are refused", () => {
  const many = Array.from(
    { length: 10_000 },
    (_, i) => tool(`t${i}`, ...[i - 1, i - 7, i - 100].filter((n) => n >= 0).map((n) => `t${n}`)),
  );
  const began = performance.now();
  assert.equal(plan(many, { ...OPTIONS, maxTasks: 10_000 }).layers, 10_000);
  const ring = [...many, tool("last", "t0")];
  ring[0] = tool("t0", "last");
  assert.match(problem(ring, { ...OPTIONS, maxTasks: 20_000 }), /they wait for each other/);
  assert.ok(performance.now() - began < 2_000, `${performance.now() - began} ms`);
  assert.match(problem(many), /There are 10000 tasks; the most is 1000/);
});
