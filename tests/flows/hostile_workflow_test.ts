// Hostile workflows, each case under its id: refused with a reason before anything runs, or harmless.
import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, testServer } from "../fixtures/gateway.ts";
import { refused, run, statuses, task } from "../fixtures/workflow.ts";

const echo = (id: string, more: Record<string, unknown> = {}) => task(id, "kit:echo", { text: "x" }, more);

Deno.test("what cannot be run is refused with every reason, and nothing runs", async (t) => {
  await using home = await createTestHome({ servers: { kit: testServer("kit") }, limits: { tasks: 500 } });
  await using client = await connectClient(home);
  const file = `${home.dir}/touched`;
  const touch = task("touch", "kit:write", { file });
  const refuse = async (tasks: unknown, expected: RegExp, options?: unknown) => {
    const given = Array.isArray(tasks) && tasks.length > 0 ? [...tasks, touch] : tasks;
    const text = await refused(client.call("run_workflow", { tasks: given, ...options !== undefined && { options } }));
    assert.match(text, expected);
    await assert.rejects(Deno.stat(file), Deno.errors.NotFound, "something ran");
  };
  const cases: [string, () => Promise<void>][] = [
    [
      "dag-001: a circle is spelt out",
      () =>
        refuse(
          [echo("a", { depends_on: ["b"] }), echo("b", { depends_on: ["a"] })],
          /wait for each other: a → b → a|b → a → b/,
        ),
    ],
    ["dag-003: two tasks of one name", () => refuse([echo("a"), echo("a")], /2 tasks are called a/)],
    [
      "dag-004: a dependency that is not there, with both names",
      () => refuse([echo("a", { depends_on: ["nobody"] })], /task a waits for nobody, which is not there/),
    ],
    ["dag-005: nothing, or something that is no list", async () => {
      await refuse([], /at least one task/);
      for (const tasks of [null, {}, "x", 7]) await refuse(tasks, /^tasks must be of type array/);
      await refuse([null, 7, "x", []], /task number 1/);
    }],
    ["dag-006: ten thousand tasks", async () => {
      const began = performance.now();
      await refuse(Array.from({ length: 10_000 }, (_, i) => echo(`t${i}`)), /There are 10001 tasks; the most is 500/);
      assert.ok(performance.now() - began < 3_000);
    }],
    [
      "dag-009: a reference to nobody",
      () => refuse([task("a", "kit:echo", { text: "$OUTPUT[missing].x" })], /task a waits for missing/),
    ],
    [
      "dag-011: a reference to itself",
      () => refuse([task("a", "kit:echo", { text: "$OUTPUT[a]" })], /a waits for itself/),
    ],
    ["dag-015: names that are no names", async () => {
      for (
        const id of ["__proto__", "constructor", "toString", "hasOwnProperty", "", " ", "x".repeat(10_240), "😀", "‮a"]
      ) {
        await refuse([echo(id)], /an id is 1 to 64 letters, digits/);
      }
    }],
    ["dag-021: fields that are not there, numbers that are none", async () => {
      await refuse([{ ...echo("a"), loop: { max: 1e9 } }], /task a: .*loop/i);
      await refuse([{ ...echo("a"), retries: 1e9 }], /task a: retries/);
      await refuse([{ ...echo("a"), timeout_ms: "NaN" }], /task a: timeout_ms/);
      await refuse([echo("a")], /options\.concurrency/, { concurrency: 1e9 });
      await refuse([echo("a")], /options\.pause/, { pause: "sometimes" });
      await refuse([echo("a")], /options\.loops is not known[\s\S]*Known fields: pause, pause_after/, { loops: 5 });
    }],
    ["arguments that the tool's own schema refuses", async () => {
      await refuse([task("a", "kit:add", { a: "one" })], /task a: arguments\.a must be number|arguments\.b is missing/);
      await refuse([task("a", "kit:nothing")], /There is no tool "kit:nothing"/);
      await refuse([task("a", "kti:add", { a: 1, b: 2 })], /There is no server "kti".*Nearest: kit/);
      await refuse([task("a", "kit:echo", { text: "$OUTPUT[" })], /is not a reference/);
    }],
  ];
  for (const [name, check] of cases) await t.step(name, check);
});

Deno.test("what looks dangerous and is not does what it says", async (t) => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit") },
    policy: { effects: { "kit:*": "read" } },
  });
  await using client = await connectClient(home);
  await t.step("dag-012: a reference is a dependency, never a race", async () => {
    const answer = await run(client, [
      task("late", "kit:echo", { text: "got $OUTPUT[early]" }),
      task("early", "kit:wait", { ms: 100 }),
    ]);
    assert.equal(answer.results.late, "kit: got waited");
  });
  await t.step("dag-013: only what a value has of its own can be reached", async () => {
    const paths = [".__proto__.polluted", ".constructor.prototype", '["__proto__"]', ".sum.toString"];
    const answer = await run(client, [
      task("sum", "kit:add", { a: 1, b: 1 }),
      ...paths.map((path, i) => task(`p${i}`, "kit:echo", { text: `$OUTPUT[sum]${path}` })),
    ]);
    assert.deepEqual(Object.values(statuses(answer)), ["success", "error", "error", "error", "error"]);
    assert.equal(textOf(await client.use("kit:echo", { text: "still here" })), "kit: still here");
  });
  await t.step("dag-016: what a tool says is never expanded", async () => {
    const answer = await run(client, [
      task("secret", "kit:add", { a: 1, b: 1 }),
      task("says", "kit:echo", { text: "$$OUTPUT[secret].sum and $$RESULT[r_0000000000000000]" }),
      task("uses", "kit:echo", { text: "it said: $OUTPUT[says]" }),
    ]);
    assert.equal(answer.results.uses, "kit: it said: kit: $OUTPUT[secret].sum and $RESULT[r_0000000000000000]");
  });
  await t.step(
    "dag-018: what never ends is cancelled at the server, its siblings end, what needs it is skipped",
    async () => {
      const answer = await run(client, [
        task("never", "kit:wait", { ms: 60_000, steps: 600 }, { timeout_ms: 200, retries: 0 }),
        task("sibling", "kit:wait", { ms: 400 }),
        task("after", "kit:echo", { text: "x" }, { depends_on: ["never"] }),
      ]);
      assert.deepEqual(statuses(answer), { never: "error", sibling: "success", after: "skipped" });
      assert.equal(textOf(await client.use("kit:cancelled")), "wait");
    },
  );
  await t.step("text with NUL and broken characters survives the journal and a later reference", async () => {
    const odd = "NUL\u0000 half \ud800 end";
    const answer = await run(client, [
      task("a", "kit:echo", { text: odd }),
      task("b", "kit:echo", { text: "$OUTPUT[a]" }),
    ]);
    assert.equal(answer.status, "completed", JSON.stringify(answer));
    assert.ok(String(answer.results.b).startsWith("kit: kit: NUL\u0000 half"));
  });
});
