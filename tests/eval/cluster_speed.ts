// How fast engines that share a database are: the claims of many, and no-op tasks over a few.
import { createJournal } from "../../src/dag/journal/journal.ts";
import { openPostgres } from "../../src/db/postgres/open.ts";
import { connectClient } from "../fixtures/client.ts";
import { createCluster } from "../fixtures/cluster.ts";
import { testServer } from "../fixtures/gateway.ts";
import { emptyPostgres } from "../fixtures/shared_database.ts";
import { run, task } from "../fixtures/workflow.ts";
import { quantiles } from "./quantiles.ts";

const SIZES = [1, 4, 16, 100];
const AT_ONCE = 8;
const CONNECTIONS = 16;
const TASKS = 100;

/** Simulated engines in one process that take runs of dead engines from a real server until none is left. */
export async function claimCurve({ runs }: { runs: number }) {
  const curve: Record<string, unknown>[] = [];
  for (const engines of SIZES) {
    const { url, drop } = await emptyPostgres();
    const db = await openPostgres(url, { connections: CONNECTIONS });
    await db.query(
      `insert into workflow_run (id, name, status, cwd, fingerprint, servers, variables, summary, epoch, lease_until,
         engine, host, owner)
       select 'wf_' || n, '', 'running', '/somewhere', 'f', '[]', '[]', '{}', 1, now() - interval '1 s', 'dead', 'h', 'eval'
       from generate_series(1, $1::int) n`,
      [runs],
    );
    const claims: number[] = [];
    const taken: string[] = [];
    const began = performance.now();
    await Promise.all(Array.from({ length: engines }, async (_, i) => {
      const engine = { id: `en_${i}`, host: "h", owner: "eval", isShared: false };
      const journal = createJournal(db, { isAlone: false, engine });
      for (;;) {
        const at = performance.now();
        const ids = await journal.claim({ folders: ["/somewhere"], without: [], limit: AT_ONCE });
        claims.push(performance.now() - at);
        if (ids.length === 0) break;
        await Promise.all(ids.map(async (id) => {
          const writer = await journal.take({ id, epoch: 1 }, [{ kind: "resumed", why: "test", seq: 1, at: 1 }], {});
          if (!writer) return;
          taken.push(id);
          writer.close();
        }));
      }
      await journal.close();
    }));
    const ms = performance.now() - began;
    const { p50, p95 } = quantiles(claims);
    curve.push({
      engines,
      runs_a_second: Math.round(taken.length / (ms / 1_000)),
      claim_p50_ms: Math.round(p50 * 10) / 10,
      claim_p95_ms: Math.round(p95 * 10) / 10,
      taken_twice: taken.length - new Set(taken).size,
      left: runs - new Set(taken).size,
    });
    await db.close();
    await drop();
  }
  return { runs, connections: CONNECTIONS, curve };
}

/** Workflows of tasks that do nothing, over several whole engines at once. */
export async function taskRate({ engines, runs }: { engines: number; runs: number }) {
  await using cluster = await createCluster();
  const config = {
    servers: { worker: testServer("worker") },
    policy: { effects: { "worker:get_item": "read" } },
    limits: { concurrency: 64, server_concurrency: 64 },
  };
  const clients = await Promise.all(Array.from({ length: engines }, async () => {
    const home = await cluster.home(config);
    const client = await connectClient(home);
    await run(client, [task("warm", "worker:get_item", { task: "warm", ms: 0 })]);
    return client;
  }));
  const tasks = Array.from({ length: TASKS }, (_, i) => task(`t${i}`, "worker:get_item", { task: `t${i}`, ms: 0 }));
  const each = Math.max(1, Math.round(runs / TASKS / engines));
  const began = performance.now();
  await Promise.all(clients.map(async (client) => {
    for (let i = 0; i < each; i++) await run(client, tasks);
  }));
  const ms = performance.now() - began;
  for (const client of clients) await client[Symbol.asyncDispose]();
  const [starts] = await cluster.query<{ p50: number; p95: number }>(
    `select percentile_cont(0.5) within group (order by ms) as p50, percentile_cont(0.95) within group (order by ms) as p95
     from (select d.at - s.at as ms from workflow_event s join workflow_event d on d.run = s.run and d.task = s.task
       and d.kind = 'done' where s.kind = 'started') as spans`,
  );
  const count = each * TASKS * engines;
  return {
    engines,
    tasks: count,
    tasks_a_second: Math.round(count / (ms / 1_000)),
    task_p50_ms: starts!.p50,
    task_p95_ms: starts!.p95,
  };
}
