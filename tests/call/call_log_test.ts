import assert from "node:assert/strict";
import { createCallLog } from "../../src/call/call_log.ts";
import { createCallStore } from "../../src/call/stores/call_store.ts";
import { type Database, noDatabase } from "../../src/db/database.ts";
import { until } from "../fixtures/gateway.ts";
import { withEmptyDatabase } from "../fixtures/shared_database.ts";

const MADE = { by: "agent", client: null, folder: "/", run: null, task: null } as const;

Deno.test("the newest calls are kept, so many and no more", () =>
  withEmptyDatabase(async (db) => {
    const calls = createCallLog(db, { mostKept: 20 });
    for (let batch = 0; batch < 10; batch++) {
      for (let i = 0; i < 5; i++) calls.record({ ...MADE, tool: `s:t${batch}`, ms: 1, ok: true, bytes: 1 });
      await calls.flush();
    }
    const rows = await db.query<{ tool: string; n: number }>(
      "select tool, count(*)::int as n from tool_call group by tool order by tool",
    );
    assert.ok(rows.reduce((sum, { n }) => sum + n, 0) <= 25);
    assert.deepEqual(rows.slice(-4).map(({ tool, n }) => [tool, n]), [6, 7, 8, 9].map((batch) => [`s:t${batch}`, 5]));
  }));

Deno.test("the figures of a day count calls and searches apart, and tell the tools that were used", () =>
  withEmptyDatabase(async (db) => {
    const store = createCallStore(db);
    assert.deepEqual(await store.figures(), { total: 0, failed: 0, queries: 0, p95: null, queries_p95: null });
    const call = (tool: string, ms: number, ok = true) => ({ ...MADE, at: Date.now(), tool, ms, ok, bytes: 1 });
    await store.add([call("s:a", 10), call("s:b", 30, false), call("agentcards:search_tools", 5)]);
    assert.deepEqual(await store.figures(), { total: 2, failed: 1, queries: 1, p95: 29, queries_p95: 5 });
    assert.deepEqual((await store.usedTools(10)).sort(), ["agentcards:search_tools", "s:a"]);
  }));

Deno.test("calls without a database wait for it, and have the time at which they were made", () =>
  withEmptyDatabase(async (db) => {
    let isAway = true;
    const query: Database["query"] = async (...given) => {
      if (isAway) throw noDatabase();
      return await db.query(...given) as never;
    };
    const calls = createCallLog({ ...db, query });
    calls.record({ ...MADE, tool: "s:early", ms: 1, ok: true, bytes: 1 });
    await calls.flush();
    const back = Date.now() + 50;
    await until("some time later", () => Date.now() > back);
    isAway = false;
    calls.record({ ...MADE, tool: "s:late", ms: 1, ok: true, bytes: 1 });
    await calls.flush();
    const rows = await db.query<{ tool: string; early: boolean }>(
      "select tool, at < to_timestamp($1::float8 / 1000) as early from tool_call order by at",
      [back],
    );
    assert.deepEqual(rows, [{ tool: "s:early", early: true }, { tool: "s:late", early: false }]);
  }));
