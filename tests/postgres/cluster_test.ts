// Several engines on one PostgreSQL: a run of one that is gone goes on in another, and nothing happens twice.
import assert from "node:assert/strict";
import { connectClient, type RawClient } from "../fixtures/client.ts";
import { type Cluster, createCluster } from "../fixtures/cluster.ts";
import { endProcess, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { isOnPostgres } from "../fixtures/shared_database.ts";
import { linesOf, refused, resume, run, statuses, task, toldId, untilStatus } from "../fixtures/workflow.ts";

const ignore = !isOnPostgres;
const LEASE_MS = 2_000;
const CONFIG = {
  engine: { lease: LEASE_MS, owner: "ann" },
  servers: { kit: testServer("kit") },
  policy: { effects: { "kit:wait": "read", "kit:echo": "read" } },
};

interface Pair extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly homes: readonly [TestHome, TestHome];
  readonly clients: readonly [RawClient, RawClient];
  /** The folder of both clients. */
  readonly folder: string;
}

/** Two engines with a client each, in one folder. */
async function createPair(): Promise<Pair> {
  const cluster = await createCluster();
  const folder = await Deno.makeTempDir({ prefix: "ac-both-" });
  const [a, b] = [await cluster.home(CONFIG), await cluster.home(CONFIG)];
  const clients = [await connectClient(a, { cwd: folder }), await connectClient(b, { cwd: folder })] as const;
  for (const client of clients) await run(client, [task("warm", "kit:echo", { text: "up" })]);
  return {
    cluster,
    homes: [a, b],
    clients,
    folder,
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client[Symbol.asyncDispose]();
      await cluster[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Sends a workflow without waiting for its end. */
async function begin(client: RawClient, tasks: unknown): Promise<string> {
  const seen = client.others.length;
  const params = { name: "run_workflow", arguments: { tasks }, _meta: { progressToken: "p" } };
  await client.send({ id: `begun ${seen}`, method: "tools/call", params });
  return await toldId(client, seen);
}

const listOf = async (home: TestHome, command: string) =>
  JSON.parse((await home.run([command, "--json"])).stdout) as Record<string, unknown>[];

Deno.test(
  "a dead engine's run goes on in another one; its doubt is told, and a retry waits for two leases",
  { ignore },
  async () => {
    await using pair = await createPair();
    const { homes: [a, b], clients: [first, second], folder } = pair;
    const file = `${folder}/oracle`;
    const id = await begin(first, [
      task("first", "kit:append", { file, line: "first" }),
      task("acts", "kit:append", { file, line: "acts", ms: 30_000 }, { depends_on: ["first"] }),
      task("reads", "kit:wait", { ms: 200 }, { depends_on: ["first"] }),
      task("end", "kit:echo", { text: "end $OUTPUT[acts]" }),
    ]);
    await until("it acts", async () => (await linesOf(file)).includes("begin acts"));
    await endProcess(first.pid, "SIGKILL");
    await endProcess((await a.enginePid())!, "SIGKILL");
    const killedAt = performance.now();
    const doubt = await untilStatus(second, id, "paused", 30_000);
    const toldAt = performance.now();
    const ms = toldAt - killedAt;
    assert.ok(ms < 4 * LEASE_MS, `it took ${ms} ms`);
    assert.deepEqual([doubt.pending?.reason, doubt.pending?.task, statuses(doubt).reads], [
      "in_doubt",
      "acts",
      "success",
    ]);
    const engines = await listOf(b, "engines");
    assert.deepEqual(engines.map(({ is_alive }) => is_alive).sort(), [false, true]);
    const contexts = await listOf(b, "contexts");
    assert.deepEqual([...new Set(contexts.map((one) => one.folder))], [folder]);
    const going = resume(second, id, "resolve", { task: "acts", outcome: "retry" });
    await until(
      "it acts again",
      async () => (await linesOf(file)).filter((line) => line === "begin acts").length === 2,
    );
    assert.ok(performance.now() - toldAt >= 2 * LEASE_MS - 500, "the retry waited");
    await resume(second, id, "abort");
    await going;
    assert.equal((await linesOf(file)).filter((line) => line === "begin first").length, 1);
  },
);

Deno.test("an engine that was stopped past its lease writes and sends nothing any more", { ignore }, async () => {
  await using pair = await createPair();
  const { homes: [a], clients: [first, second], folder } = pair;
  const file = `${folder}/oracle`;
  const id = await begin(first, [
    task("slow", "kit:wait", { ms: 1_000 }),
    ...["x", "y", "z"].map((name) => task(name, "kit:append", { file, line: name }, { depends_on: ["slow"] })),
  ]);
  const pid = (await a.enginePid())!;
  Deno.kill(pid, "SIGSTOP");
  try {
    const done = await untilStatus(second, id, "completed", 30_000);
    assert.equal(statuses(done).slow, "success");
  } finally {
    Deno.kill(pid, "SIGCONT");
  }
  await until("the old runner is told", async () => /RUN_TAKEN|run_broke_off/.test(await a.log()));
  assert.deepEqual((await linesOf(file)).sort(), ["begin x", "begin y", "begin z", "end x", "end y", "end z"]);
});

Deno.test(
  "a drained engine hands its runs to another one, and finished tasks are not repeated",
  { ignore },
  async () => {
    await using pair = await createPair();
    const { homes: [a], clients: [first, second], folder } = pair;
    const file = `${folder}/oracle`;
    const id = await begin(first, [
      task("big", "kit:echo", { text: "x".repeat(200_000) }),
      task("acts", "kit:append", { file, line: "acts", ms: 1_500 }, { depends_on: ["big"] }),
      task("then", "kit:append", { file, line: "then" }, { depends_on: ["acts"] }),
      // A large output lies in a file of the first home.
      task("end", "kit:echo", { text: "$OUTPUT[big]" }, { depends_on: ["then"] }),
    ]);
    await until("it acts", async () => (await linesOf(file)).includes("begin acts"));
    assert.equal((await resume(second, id, "status")).status, "running");
    assert.match(
      await refused(second.call("resume_workflow", { workflow_id: id, action: "abort" })),
      /runs in another/,
    );
    const { stdout } = await a.run(["engine", "drain"]);
    assert.match(stdout, /One run came to rest/);
    await untilStatus(second, id, "completed", 30_000);
    assert.deepEqual(await linesOf(file), ["begin acts", "end acts", "begin then", "end then"]);
    assert.match(JSON.stringify(await listOf(a, "engines")), /"state":"draining"/);
  },
);

Deno.test("an engine never writes into the tables of a newer version", { ignore }, async () => {
  await using cluster = await createCluster();
  const home = await cluster.home(CONFIG);
  await using client = await connectClient(home);
  await run(client, [task("warm", "kit:echo", { text: "up" })]);
  await cluster.query(
    "update config_metadata set value = to_jsonb((value #>> '{}')::int + 1) where key = 'schema_version'",
  );
  const problem = async () =>
    JSON.parse((await home.run(["status", "--json"])).stdout).database.problem as string | null;
  await until("the engine has seen it", async () => await problem() !== null, 20_000);
  assert.match((await problem())!, /newer AgentCards/);
  const refused = await client.call("run_workflow", { tasks: [task("x", "kit:echo", { text: "x" })] });
  assert.equal(refused.isError, true);
});
