import assert from "node:assert/strict";
import { createMetrics, trendsOf, type Usage } from "../../src/stats/mod.ts";
import { createMetricsStore } from "../../src/stats/metrics_store.ts";
import { slotOf } from "../../src/stats/usage.ts";
import { withEmptyDatabase } from "../fixtures/shared_database.ts";

const HOUR_MS = 3_600_000;

Deno.test("figures of calls are sums by hour, and percentiles within a tenth", () =>
  withEmptyDatabase(async (db) => {
    const metrics = createMetrics(db);
    const call = (ms: number, more = {}) => ({
      tool: "s:a",
      client: "c",
      by: "agent",
      ms,
      ok: true,
      bytes: 40,
      ...more,
    });
    await metrics.add(Array.from({ length: 100 }, (_, i) => call(i + 1, { bytes_in: 8, kept: 20 })));
    await metrics.add([call(5, { tool: "t:b", ok: false, client: null, by: "human" })]);
    await metrics.add([call(1, { tool: "agentcards:run_workflow", bytes: 400 })]);
    const { total, tools, servers, clients, makers, series } = await metrics.usage({ since: Date.now() - HOUR_MS });
    assert.deepEqual([total.calls, total.failed, tools.map(({ name }) => name)], [101, 1, ["s:a", "t:b"]]);
    const [a] = tools;
    assert.ok(Math.abs(a!.p50_ms! - 50) < 5 && Math.abs(a!.p95_ms! - 95) < 9.5, JSON.stringify(a));
    assert.deepEqual([a!.tokens_in, a!.tokens_out, a!.tokens_kept], [200, 1_000, 500]);
    assert.equal(total.tokens_kept, 400, "what the answer of a workflow said was not kept out");
    assert.deepEqual(servers.map(({ name, calls }) => [name, calls]), [["s", 100], ["t", 1]]);
    assert.deepEqual(clients.map(({ name }) => name), ["c", ""]);
    assert.deepEqual(makers.map(({ name }) => name), ["agent", "human"]);
    assert.equal(series.at(-1)!.calls, 101);
    assert.equal((await metrics.usage({ since: 0, tool: "t:*" })).total.calls, 1);
    await metrics.add([call(1, { misfit: "result.a is missing" }), call(1, { misfit: "result.b is missing" })]);
    await metrics.add([call(1, { misfit: "result.c is missing" })]);
    const { misfits } = await metrics.usage({ since: 0 });
    assert.deepEqual(misfits, [{ tool: "s:a", misfits: 3, problem: "result.c is missing" }]);
    assert.deepEqual((await metrics.usage({ since: 0, tool: "t:*" })).misfits, []);
    assert.equal((await metrics.usage({ since: Date.now() + 2 * HOUR_MS })).total.calls, 0);
  }));

Deno.test("old hours become days, old days go, and nothing is counted twice", () =>
  withEmptyDatabase(async (db) => {
    const store = createMetricsStore(db);
    const row = { tool: "s:a", client: "", made_by: "agent", slot: slotOf(10), calls: 2, failed: 1, ms: 20 };
    for (const days of [0, 20, 20, 500]) {
      await store.add([{ ...row, bytes_in: 1, bytes_out: 1, kept: 0 }]);
      await db.query(
        `update telemetry_metrics set at = at - $1 * interval '1 day' - (select count(*) from telemetry_metrics) * interval '1 hour'
         where at >= date_trunc('hour', now())`,
        [days],
      );
    }
    for (let i = 0; i < 2; i++) {
      await store.compact({ hourDays: 14, days: 400 });
      const rows = await db.query<{ span: string; calls: number }>(
        "select span, sum(calls)::int as calls from telemetry_metrics group by span order by span",
      );
      assert.deepEqual(rows, [{ span: "day", calls: 4 }, { span: "hour", calls: 2 }]);
    }
  }));

Deno.test("a tool that got much slower or fails much more is told, and no other", () => {
  const usage = (name: string, p95_ms: number, failed: number, calls = 100): Usage => ({
    ...{ name, calls, failed, p50_ms: p95_ms, p95_ms },
    ...{ tokens_in: 0, tokens_out: 0, tokens_kept: 0 },
  });
  const past = [
    usage("slow", 200, 0),
    usage("fails", 10, 1),
    usage("same", 10, 5),
    usage("few", 10, 0, 5),
    usage("tiny", 1, 0),
  ];
  const now = [
    usage("slow", 900, 0),
    usage("fails", 10, 30),
    usage("same", 15, 6),
    usage("few", 900, 90),
    usage("tiny", 9, 0),
  ];
  assert.deepEqual(trendsOf(now, past).map(({ tool, kind }) => [tool, kind]), [["slow", "slower"], [
    "fails",
    "failing",
  ]]);
});
