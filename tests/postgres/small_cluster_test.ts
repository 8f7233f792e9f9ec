// A small version of `eval cluster`: engines that share a database, each run with a fault of its own.
import assert from "node:assert/strict";
import { evaluate } from "../eval/evaluate.ts";
import { isOnPostgres } from "../fixtures/shared_database.ts";

const ignore = !isOnPostgres;

Deno.test(
  "eval cluster: engines that are killed, stopped or cut off repeat nothing and lose nothing",
  { ignore },
  async () => {
    const { trials, faults: _, engines: _e, lease_ms: _l, doubts: _d, over_p50_ms: _p, over_p95_ms: _q, ...bad } =
      await evaluate(
        "cluster",
        ...["--engines", "2", "--trials", "8"],
      );
    assert.equal(trials, 8);
    assert.deepEqual(bad, {
      double_executions: 0,
      finished_reruns: 0,
      lost_acknowledgements: 0,
      untold_doubts: 0,
      not_finished: 0,
      errors: [],
    });
  },
);

Deno.test("eval cluster --mode claims: each run of a dead engine is taken once", { ignore }, async () => {
  const { curve } = await evaluate("cluster", "--mode", "claims", "--runs", "60") as {
    curve: { taken_twice: number; left: number }[];
  };
  assert.deepEqual(curve.map(({ taken_twice, left }) => [taken_twice, left]), Array(4).fill([0, 0]));
});
