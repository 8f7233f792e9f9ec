import assert from "node:assert/strict";
import { createQuietWork } from "../../src/model/quiet.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

Deno.test("work waits for a pause, is done once for all that went on, and not after it was cancelled", async () => {
  let done = 0;
  const work = createQuietWork({ quietMs: 200, latestMs: 60_000 }, () => done++);
  for (let i = 0; i < 5; i++) work.touch();
  assert.equal(done, 0);
  while (done === 0) await pause(20);
  work.touch();
  work.cancel();
  await pause(300);
  assert.equal(done, 1);
});

Deno.test("without a pause work is done at the latest time all the same", async () => {
  let done = 0;
  const work = createQuietWork({ quietMs: 60_000, latestMs: 50 }, () => done++);
  while (done === 0) {
    work.touch();
    await pause(5);
  }
  work.cancel();
});
