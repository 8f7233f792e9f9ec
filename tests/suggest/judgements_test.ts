import assert from "node:assert/strict";
import { createJudgements, type SearchTrail } from "../../src/suggest/judgements.ts";
import { liftOf } from "../../src/vector/judgements.ts";

const call = (tool: string, ok = true) => ({ tool, ok });

Deno.test("a call after a search judges its tool, once, and not after ten minutes or when it failed", () => {
  let now = 0;
  const judgements = createJudgements([], () => now);
  const trail: SearchTrail = { searches: [] };
  judgements.searched(trail, "keep this in mind", [{ tool: "a:x", missing: 0 }, {
    tool: "memory:create",
    missing: 1.5,
  }]);
  assert.deepEqual(judgements.ended(trail, [call("b:y"), call("memory:create", false)]), []);
  const judged = { request: "keep this in mind", tool: "memory:create", missing: 1.5 };
  assert.deepEqual(judgements.ended(trail, [call("memory:create"), call("memory:create")]), [judged]);
  assert.deepEqual(judgements.experience.judgements, [judged]);
  now = 11 * 60_000;
  assert.deepEqual(judgements.ended(trail, [call("a:x")]), []);
  for (let i = 0; i < 3; i++) judgements.ended(trail, [call("a:x", false)]);
  assert.equal(judgements.experience.failures("a:x"), 3);
  judgements.ended(trail, [call("a:x")]);
  assert.equal(judgements.experience.failures("a:x"), 0);
});

Deno.test("experience lifts the tool of near requests by what it lacked, and sinks a tool that keeps failing", () => {
  const experience = {
    judgements: [{ request: "keep this in mind", tool: "b", missing: 2 }],
    failures: (tool: string) => tool === "a" ? 4 : 0,
  };
  const lift = (similarity: number) =>
    liftOf(["a", "b", "c"], {
      experience,
      similarities: Float32Array.of(similarity),
      coverageOf: () => 0,
      first: 0,
    })!;
  const [a, b, c] = lift(0.7);
  assert.deepEqual([a, c], [-2, 0]);
  assert.ok(b! > 3 && b! > lift(0.4)[1]! && lift(0.4)[1]! > 0);
  assert.equal(lift(0.2)[1], 0);
  assert.equal(lift(NaN)[1], 0, "a request without a vector yet");
});
