// Small versions of the measuring commands that kill engines.
import assert from "node:assert/strict";
import { evaluate } from "./evaluate.ts";

Deno.test("eval answers: engines die under requests, every effect happens once and every answer is the run's own", async () => {
  const { trials, effects_twice, effects_lost, real_answers, requests_hit, errors } = await evaluate(
    "answers",
    "--trials",
    "4",
  );
  assert.deepEqual([trials, effects_twice, effects_lost, real_answers, errors], [4, 0, 0, 1, []]);
  assert.ok(Number(requests_hit) > 0);
});

for (const [mode, trials] of [["kill", "3"], ["rival", "12"]] as const) {
  Deno.test(`eval crash --mode ${mode} finds nothing repeated, nothing lost and every doubt told`, async () => {
    const figures = await evaluate("crash", "--mode", mode, "--trials", trials, "--seed", "11");
    const wrong = ["silent_reruns", "finished_reruns", "lost", "double_executions"].filter((key) => figures[key] !== 0);
    assert.deepEqual(wrong, [], JSON.stringify(figures));
    assert.deepEqual([figures.trials, figures.errors], [Number(trials), []]);
    assert.equal(figures.in_doubt_surfaced, figures.doubts);
    if (mode === "rival") {
      assert.deepEqual([figures.unfenced_calls, figures.stale_rows, figures.double_takes], [0, 0, 0]);
    }
  });
}

Deno.test("eval audit finds every change, and a killed engine loses no row of an acknowledged call", async () => {
  const figures = await evaluate("audit", "--rows", "2000", "--mutations", "22", "--kills", "2");
  assert.deepEqual([figures.found, figures.lost, figures.findings], [22, 0, 0], JSON.stringify(figures));
  assert.ok(Number(figures.acknowledged) > 0);
});
