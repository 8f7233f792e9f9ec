// Random workflows with conditions, polls, approvals, failures and kills, held against a model of docs/WORKFLOWS.md.
import assert from "node:assert/strict";
import { compareRuns } from "./condition_runs.ts";

Deno.test("random workflows end as their model says, and no effect is repeated", async () => {
  const runs = 100;
  const { disagreements, repeated, kills, statuses } = await compareRuns({ runs, seed: 7 });
  assert.deepEqual(disagreements, []);
  assert.equal(repeated, 0);
  assert.ok(Math.min(statuses.completed!, statuses.partial!, statuses.failed!) > runs / 20, JSON.stringify(statuses));
  assert.ok(kills > runs / 5, `${kills} kills`);
});
