// Small versions of the measuring commands about snapshots.
import assert from "node:assert/strict";
import { evaluate } from "./evaluate.ts";

Deno.test("eval undo: every file is what it was, and a person's change is in the way", async () => {
  const { n, violations, first } = await evaluate("undo", "--runs", "12", "--seed", "5");
  assert.deepEqual([n, violations], [12, 0], String(first));
});

Deno.test("eval snapshot: nothing is written into the user's .git", async () => {
  const { files, written_into_git } = await evaluate("snapshot", "--files", "400", "--rounds", "1");
  assert.deepEqual([files, written_into_git], [400, 0]);
});
