import assert from "node:assert/strict";
import { openDatabase } from "../../src/db/pglite.ts";
import { createCallLog } from "../../src/call/call_log.ts";

const MADE = { by: "agent", client: null, folder: "/", run: null, task: null } as const;

Deno.test("the newest calls are kept, so many and no more", async () => {
  const dir = await Deno.makeTempDir({ prefix: "ac-calls-" });
  const db = await openDatabase(`${dir}/data`, { durability: "process" });
  try {
    const calls = createCallLog(Promise.resolve(db), { mostKept: 20 });
    for (let batch = 0; batch < 10; batch++) {
      for (let i = 0; i < 5; i++) calls.record({ ...MADE, tool: `s:t${batch}`, ms: 1, ok: true, bytes: 1 });
      await calls.flush();
    }
    const rows = await db.query<{ tool: string; n: number }>(
      "select tool, count(*)::int as n from tool_call group by tool order by tool",
    );
    assert.ok(rows.reduce((sum, { n }) => sum + n, 0) <= 25);
    assert.deepEqual(rows.slice(-4).map(({ tool, n }) => [tool, n]), [6, 7, 8, 9].map((batch) => [`s:t${batch}`, 5]));
  } finally {
    await db.close();
    await Deno.remove(dir, { recursive: true });
  }
});
