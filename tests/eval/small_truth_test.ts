// Small versions of the measuring commands that compare answers with a model of them.
import assert from "node:assert/strict";
import { evaluate } from "./evaluate.ts";

Deno.test("eval stale: a read sees what was changed since the read before it, whoever changed it", async () => {
  const { trials, stale, sources } = await evaluate("stale", "--trials", "24");
  assert.deepEqual([trials, stale], [24, 0], JSON.stringify(sources));
  assert.equal(Object.keys(sources as object).length, 12, "three stores, four ways to change them");
});

Deno.test("eval truth: status, exit code, lists, results and repair agree with a model of them", async () => {
  const { runs, violations, first } = await evaluate("truth", "--runs", "12", "--seed", "7");
  assert.deepEqual([runs, violations], [12, 0], JSON.stringify(first));
});

Deno.test("eval pins: every planted change is found, none of its text shown, and nothing honest is withheld", async () => {
  const { found, texts_shown, loosened_calls, quarantined } = await evaluate("pins", "--mutations", "23");
  assert.deepEqual({ found, texts_shown, loosened_calls, quarantined }, {
    found: 23,
    texts_shown: 0,
    loosened_calls: 0,
    quarantined: 0,
  });
});
