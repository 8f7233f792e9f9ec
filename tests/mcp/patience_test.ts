import assert from "node:assert/strict";
import { createPatience } from "../../src/mcp/pending.ts";

Deno.test("a call's time stands still while its server waits for an answer, ten minutes at the most", async () => {
  let now = 0;
  const patience = createPatience(() => now);
  const early = patience.start(1_000);
  now = 400;
  assert.equal(early(), 600);
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const asked = patience.whileAsked(() => first.promise);
  now = 5_000;
  const late = patience.start(1_000);
  const askedMore = patience.whileAsked(() => second.promise);
  assert.deepEqual([early(), late()], [600, 1_000]);
  first.resolve();
  await asked;
  now = 6_000;
  assert.deepEqual([early(), late()], [600, 1_000], "one question is still open");
  second.resolve();
  await askedMore;
  now = 6_500;
  assert.deepEqual([early(), late()], [100, 500]);
  const never = patience.whileAsked(() => Promise.withResolvers<void>().promise);
  never.catch(() => {});
  now += 11 * 60_000;
  assert.ok(early() < 0 && late() < 0);
});
