// deno-lint-ignore-file no-console -- it tells on stderr how far it is
// A fault for every run: what the tools themselves wrote down against what the journal says.
import type { RunEvent } from "../../src/dag/event.ts";
import { connectClient, type RawClient } from "../fixtures/client.ts";
import { type Cluster, createCluster, createLine, type Line } from "../fixtures/cluster.ts";
import { endProcess, sleep, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { task, toldId } from "../fixtures/workflow.ts";
import { type Random, seeded } from "../model/random.ts";
import { createOracle, type Oracle } from "./crash_oracle.ts";
import { quantiles } from "./quantiles.ts";

const LEASE_MS = 1_500;
const TRIAL_MS = 60_000;
/** A fault lasts past the lease, or ends before it. */
const LONG_MS = 2 * LEASE_MS;
const SHORT_MS = LEASE_MS / 3;

const FAULTS = [
  "kill engine",
  "kill engine and client",
  "stop",
  "stop shortly",
  "cut",
  "cut shortly",
  "outage",
  "server crash",
] as const;
type Fault = typeof FAULTS[number];

interface Member {
  readonly home: TestHome;
  readonly line: Line;
  client: RawClient;
}

interface Scene {
  readonly cluster: Cluster;
  readonly members: readonly Member[];
  readonly folder: string;
  readonly oracle: Oracle;
  readonly random: Random;
}

interface Counts {
  double_executions: number;
  finished_reruns: number;
  lost_acknowledgements: number;
  untold_doubts: number;
  doubts: number;
  not_finished: number;
}

export async function clusterFaults({ engines, trials, seed }: { engines: number; trials: number; seed: number }) {
  const total: Counts = {
    double_executions: 0,
    finished_reruns: 0,
    lost_acknowledgements: 0,
    untold_doubts: 0,
    doubts: 0,
    not_finished: 0,
  };
  const recovered: number[] = [];
  const faults: Record<string, number> = {};
  const errors: string[] = [];
  await using cluster = await createCluster();
  const folder = await Deno.makeTempDir({ prefix: "ac-cluster-" });
  await Deno.writeTextFile(`${folder}/oracle`, "");
  const oracle = createOracle(`${folder}/oracle`);
  const members = await Promise.all(Array.from({ length: engines }, () => join(cluster, folder)));
  try {
    for (let trial = 0; trial < trials; trial++) {
      const random = seeded(seed * 1_000_003 + trial);
      const fault = FAULTS[trial % FAULTS.length]!;
      faults[fault] = (faults[fault] ?? 0) + 1;
      try {
        const { counts, ms } = await tryOnce({ cluster, members, folder, oracle, random }, {
          fault,
          name: `t${trial}`,
        });
        for (const key of Object.keys(total) as (keyof Counts)[]) total[key] += counts[key];
        recovered.push(ms);
        const { doubts: _, ...bad } = counts;
        if (Object.values(bad).some((count) => count > 0)) {
          console.error(`trial ${trial} (${fault}): ${JSON.stringify(bad)}`);
        }
      } catch (error) {
        errors.push(`trial ${trial} (${fault}): ${(error as Error).message}`);
        console.error(errors.at(-1));
      }
      if ((trial + 1) % 10 === 0) console.error(`${trial + 1} of ${trials}`);
    }
  } finally {
    for (const { client, line } of members) {
      await client[Symbol.asyncDispose]();
      await line[Symbol.asyncDispose]();
    }
    oracle.close();
    await Deno.remove(folder, { recursive: true });
  }
  const { p50, p95 } = quantiles(recovered);
  return {
    engines,
    trials,
    faults,
    lease_ms: LEASE_MS,
    ...total,
    over_p50_ms: Math.round(p50),
    over_p95_ms: Math.round(p95),
    errors,
  };
}

async function join(cluster: Cluster, folder: string): Promise<Member> {
  const line = await createLine(cluster.url);
  const home = await cluster.home({
    engine: { lease: LEASE_MS, owner: "eval" },
    servers: { worker: testServer("worker", `--log=${folder}/oracle`) },
  }, line);
  const client = await connectClient(home, { cwd: folder });
  await client.use("worker:get_item", { task: "warm", ms: 0 });
  return { home, line, client };
}

/** A chain of reads and effects beside another one, so that a fault finds something under way. */
function tasksOf(name: string, random: Random): Record<string, unknown>[] {
  const tasks: Record<string, unknown>[] = [];
  for (const chain of ["a", "b"]) {
    for (let i = 0; i < 4; i++) {
      const id = `${chain}${i}`;
      const tool = random.below(10) < 6 ? "worker:send_item" : "worker:get_item";
      const ms = 50 + random.below(250);
      tasks.push(task(id, tool, { task: `${name}.${id}`, ms }, { depends_on: i > 0 ? [`${chain}${i - 1}`] : [] }));
    }
  }
  return tasks;
}

async function tryOnce(
  scene: Scene,
  { fault, name }: { fault: Fault; name: string },
): Promise<{ counts: Counts; ms: number }> {
  const { cluster, members, oracle, random } = scene;
  const tasks = tasksOf(name, random);
  const member = members[random.below(members.length)]!;
  const id = await begin(member.client, name, tasks);
  const wanted = random.below(5);
  await until("tasks began", () => oracle.begins(`${name}.`).length >= wanted, 10_000);
  await sleep(random.below(150));
  const began = performance.now();
  const ended = suffer(scene, member, fault);
  const doubtful = new Set<string>();
  const deadline = began + TRIAL_MS;
  let status = "running";
  for (;;) {
    status = await statusOf(cluster, id);
    if (["completed", "partial", "failed"].includes(status) || performance.now() > deadline) break;
    if (status === "paused") await settle(members, id, doubtful);
    await sleep(50);
  }
  const ms = performance.now() - began;
  await ended;
  const events = await eventsOf(cluster, id);
  return { counts: judge({ name, tasks, status, events, doubtful, oracle }), ms };
}

/** Starts a run, again where the engine has just lost its database or is starting. */
async function begin(client: RawClient, name: string, tasks: readonly unknown[]): Promise<string> {
  for (let i = 0; i < 50; i++) {
    const seen = client.others.length;
    const id = `${name} ${i}`;
    const params = { name: "run_workflow", arguments: { tasks }, _meta: { progressToken: id } };
    await client.send({ id, method: "tools/call", params });
    const refused = client.answerTo(id).then(({ result }) => (result as { isError?: boolean }).isError === true);
    const told = toldId(client, seen).catch(() => undefined);
    const found = await Promise.race([told, refused.then((isRefused) => isRefused ? undefined : told)]);
    if (found !== undefined) return found;
    await sleep(200);
  }
  throw new Error("no engine took the run");
}

/** Makes a fault happen; resolves when it is over. */
async function suffer({ cluster, members, folder }: Scene, member: Member, fault: Fault): Promise<void> {
  const pid = (await member.home.enginePid())!;
  if (fault.startsWith("kill")) {
    if (fault === "kill engine and client") await member.client[Symbol.asyncDispose]();
    await endProcess(pid, "SIGKILL");
    if (fault === "kill engine and client") member.client = await connectClient(member.home, { cwd: folder });
    return;
  }
  if (fault === "server crash") {
    // PostgreSQL ends all connections when one of its processes is killed, and recovers from its log.
    const [row] = await cluster.query<{ pid: number }>("select pg_backend_pid() as pid");
    Deno.kill(row!.pid, "SIGKILL");
    return;
  }
  const isShort = fault.endsWith("shortly") || fault === "outage";
  const cut = fault === "outage" ? members : fault.startsWith("cut") ? [member] : [];
  for (const { line } of cut) line.cut();
  if (fault.startsWith("stop")) Deno.kill(pid, "SIGSTOP");
  await sleep(isShort ? SHORT_MS : LONG_MS);
  if (fault.startsWith("stop")) Deno.kill(pid, "SIGCONT");
  for (const { line } of cut) line.mend();
}

async function statusOf(cluster: Cluster, id: string): Promise<string> {
  const rows = await cluster.query<{ status: string }>(`select status from workflow_run where id = '${id}'`)
    // The server is recovering.
    .catch(() => []);
  return rows[0]?.status ?? "unknown";
}

async function eventsOf(cluster: Cluster, id: string): Promise<RunEvent[]> {
  const rows = await cluster.query<{ kind: string; task: string | null; at: number }>(
    `select seq, kind, task, at, attempt from workflow_event where run = '${id}' order by seq`,
  );
  return rows as unknown as RunEvent[];
}

/** Says of each doubt that it is done, as somebody who has looked would, and goes on. */
async function settle(members: readonly Member[], id: string, doubtful: Set<string>): Promise<void> {
  for (const { client } of members) {
    const ask = (action: string, more = {}) =>
      Promise.race([
        client.call("resume_workflow", { workflow_id: id, action, ...more }).then(
          (result) => result.isError ? undefined : JSON.parse(result.content[0]!.text!),
          () => undefined,
        ),
        sleep(2_000).then(() => undefined),
      ]);
    const found = await ask("status");
    if (!found || found.status !== "paused") continue;
    const { reason, task } = found.pending;
    if (reason === "in_doubt") doubtful.add(task);
    const decided = reason === "in_doubt"
      ? await ask("resolve", { task, outcome: "done", value: "looked at" })
      : await ask("continue");
    if (decided) return;
  }
}

interface Evidence {
  readonly name: string;
  readonly tasks: readonly Record<string, unknown>[];
  readonly status: string;
  readonly events: readonly RunEvent[];
  readonly doubtful: ReadonlySet<string>;
  readonly oracle: Oracle;
}

function judge({ name, tasks, status, events, doubtful, oracle }: Evidence): Counts {
  const begins = oracle.begins(`${name}.`);
  const of = (id: unknown, kind: string) =>
    events.filter((event) => event.kind === kind && "task" in event && event.task === id);
  const counts: Counts = {
    double_executions: 0,
    finished_reruns: 0,
    lost_acknowledgements: 0,
    untold_doubts: 0,
    doubts: doubtful.size,
    not_finished: status === "completed" ? 0 : 1,
  };
  for (const { id, tool } of tasks) {
    const times = begins.filter(({ task }) => task === `${name}.${id}`);
    const done = of(id, "done")[0];
    if (tool === "worker:send_item" && times.length > 1) counts.double_executions++;
    if (done && times.some(({ at }) => at > done.at + 5)) counts.finished_reruns++;
    if (of(id, "done").length > 1) counts.lost_acknowledgements++;
    if (of(id, "in_doubt").length > 0 && !doubtful.has(String(id))) counts.untold_doubts++;
  }
  return counts;
}
