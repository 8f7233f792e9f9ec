import assert from "node:assert/strict";
import { diskOf, reportOf } from "../../src/stats/disk.ts";

Deno.test("a disk that is almost full is a problem that says what to do", async () => {
  assert.deepEqual(reportOf(300 * 1024 * 1024, "/home"), { free_bytes: 300 * 1024 * 1024, problem: null });
  assert.match(reportOf(1024 * 1024, "/home").problem!, /^1 MB are free for \/home: free some space/);
  assert.ok((await diskOf("/"))!.free_bytes >= 0);
  assert.equal(await diskOf("/no/such/folder"), null);
});
