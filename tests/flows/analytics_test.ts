// Figures that are copied to a PostgreSQL which comes and goes.
import assert from "node:assert/strict";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, endProcess, testServer, until } from "../fixtures/gateway.ts";
import { switchedPostgres } from "../fixtures/postgres_server.ts";
import { isOnPostgres } from "../fixtures/shared_database.ts";
import { run, task } from "../fixtures/workflow.ts";

Deno.test(
  "each call and run is copied once, while PostgreSQL stops and the engine is killed",
  { ignore: !isOnPostgres },
  async () => {
    await using server = await switchedPostgres();
    await using home = await createTestHome({
      servers: { kit: testServer("kit") },
      policy: { effects: { "kit:*": "read" }, speculate: { costs: { "kit:add": 0.25 } } },
      analytics: { postgres: server.url, every: "100ms" },
    });
    await using client = await connectClient(home);
    const call = async (count: number) => {
      for (let i = 0; i < count; i++) await client.use("kit:echo", { text: "personal-words" });
    };
    const { default: postgres } = await import("postgres");
    const sql = postgres(server.url, { max: 1, onnotice: () => {}, idle_timeout: 1 });
    const count = async (table: string) =>
      await sql.unsafe(`select count(*)::int as n from ${table}`).then(([row]) => row!.n as number, () => -1);
    try {
      await call(5);
      await until("the first rows", async () => await count("metrics_calls") === 5, 20_000);

      await server.stop();
      await call(5);
      await until("rows that wait", async () => {
        const { stdout } = await home.run(["status", "--json"]);
        const { analytics } = JSON.parse(stdout);
        return analytics.waiting_bytes > 0 && /reached|connect/i.test(analytics.problem);
      }, 20_000);
      await endProcess((await home.enginePid())!, "SIGKILL");
      await call(5);
      await server.start();
      await until("the rows of before", async () => await count("metrics_calls") === 15, 20_000);

      const done = await run(client, [task("a", "kit:add", { a: 1, b: 2 }), task("b", "kit:fail")]);
      await until("the run", async () => await count("metrics_runs") === 1, 20_000);
      const [row] = await sql`select run, status, tasks, failed, client from metrics_runs`;
      assert.deepEqual({ ...row }, { run: done.workflow_id, status: "partial", tasks: 2, failed: 1, client: "test" });
      assert.deepEqual([...await sql`select agent, failed from metrics_agents`].map((r) => ({ ...r })), [{
        agent: "test",
        failed: 1,
      }]);
      assert.deepEqual([...await sql`select tool, usd, run from metrics_costs`].map((r) => ({ ...r })), [{
        tool: "kit:add",
        usd: 0.25,
        run: done.workflow_id,
      }]);
      const [calls] = await sql`select count(*)::int as n, count(distinct (engine, seq))::int as keys,
        count(*) filter (where outcome = 'failed')::int as failed, bool_and(ms > 0) as timed from metrics_calls`;
      assert.deepEqual({ ...calls }, { n: 17, keys: 17, failed: 1, timed: true });
      const [kept] = await sql`select tokens_in, tokens_kept from metrics_tokens where tool = 'kit:add'`;
      assert.ok(Number(kept!.tokens_in) > 0 && Number(kept!.tokens_kept) > 0);
      const text = JSON.stringify(await sql`select * from metrics_calls natural full join metrics_tokens`);
      assert.ok(!text.includes("personal-words"));
    } finally {
      await sql.end({ timeout: 1 });
    }
  },
);
