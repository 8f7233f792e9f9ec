import type { Durability } from "../../src/db/pglite/worker.ts";
import { connectClient, type RawClient } from "../fixtures/client.ts";
import { AS_INSTALLED, createTestHome, endProcess, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { askHome } from "./ask_home.ts";
import { quantiles } from "./quantiles.ts";
import { endHome } from "./startup.ts";

export interface Resuming {
  readonly tasks: number;
  readonly rounds: number;
  readonly durability: Durability;
}

/** Tasks that are not finished when the engine is killed: one that hangs, the rest behind it. */
const LEFT = 10;
const LONG_MS = 600_000;

/**
 * How soon a run of many tasks goes on after its engine was killed: until its server has read the first new call, from
 * the word to go on, and from the start of the client that says it. Warm: another client has woken the new engine before.
 */
export async function measureResume({ tasks, rounds, durability }: Resuming) {
  const log = await Deno.makeTempFile({ prefix: "ac-resume-" });
  const home = await createTestHome({
    servers: { worker: testServer("worker", `--log=${log}`) },
    limits: { concurrency: 1_000, server_concurrency: 1_000, tasks },
    durability,
  }, AS_INSTALLED);
  try {
    const id = await begin(home, tasks);
    const times = { cold: [] as Resumed[], warm: [] as Resumed[] };
    for (let round = 0; round < rounds; round++) {
      for (const way of ["cold", "warm"] as const) {
        if (way === "warm") await askHome(home, "status");
        times[way].push(await resumeOnce(home, id, log));
      }
    }
    const median = (list: readonly Resumed[], key: keyof Resumed) =>
      Math.round(quantiles(list.map((times) => times[key])).p50);
    return {
      resume_tasks: tasks,
      resume_ms: median(times.cold, "fromWord"),
      resume_from_connect_ms: median(times.cold, "fromConnect"),
      resume_warm_ms: median(times.warm, "fromWord"),
      resume_warm_from_connect_ms: median(times.warm, "fromConnect"),
      // Of these, the time from when the server's program ran to when it read the call.
      resume_server_ms: median(times.warm, "inServer"),
    };
  } finally {
    await endHome(home);
    await Deno.remove(log);
  }
}

/** Starts the run and waits until all is finished that can be. */
async function begin(home: TestHome, count: number): Promise<string> {
  const client = await connectClient(home);
  const tasks = Array.from({ length: count }, (_, i) => {
    const isLong = i === count - LEFT;
    return {
      id: `t${i}`,
      tool: "worker:get_item",
      arguments: { task: `t${i}`, ms: isLong ? LONG_MS : 0 },
      depends_on: i > count - LEFT ? [`t${count - LEFT}`] : [],
      ...isLong && { timeout_ms: LONG_MS },
    };
  });
  void client.send({ id: "run", method: "tools/call", params: { name: "run_workflow", arguments: { tasks } } });
  let id = "";
  await until("the run's beginning", async () => {
    const [report] = await askHome(home, "runs");
    id = report?.id ?? "";
    return id !== "";
  }, 20_000);
  await until("the end of what can end", async () => {
    return (await askHome(home, "run_show", { id })).succeeded === count - LEFT;
  }, 30_000);
  await crash(home, client);
  return id;
}

/** The client goes first: it would start the next engine. */
async function crash(home: TestHome, client: RawClient): Promise<void> {
  Deno.kill(client.pid, "SIGKILL");
  await client.exited;
  await endProcess((await home.enginePid())!, "SIGKILL");
}

interface Resumed {
  readonly fromWord: number;
  readonly fromConnect: number;
  readonly inServer: number;
}

async function resumeOnce(home: TestHome, id: string, log: string): Promise<Resumed> {
  const before = (await Deno.stat(log)).size;
  const connecting = Date.now();
  const client = await connectClient(home);
  const sent = Date.now();
  const decision = { name: "resume_workflow", arguments: { workflow_id: id, action: "continue" } };
  await client.send({ id: "resume", method: "tools/call", params: decision });
  let called: Lines;
  await until("the first new call", async () => (called = await linesAfter(log, before)).begin !== undefined, 20_000);
  const { boot, begin } = called!;
  await crash(home, client);
  return { fromWord: begin! - sent, fromConnect: begin! - connecting, inServer: begin! - boot! };
}

/** When the server's program began, and when it read its first call. */
interface Lines {
  readonly boot?: number;
  readonly begin?: number;
}

async function linesAfter(log: string, offset: number): Promise<Lines> {
  const lines = (await Deno.readTextFile(log)).slice(offset).split("\n").map((line) => line.split(" "));
  const at = (kind: string) => lines.filter(([first]) => first === kind).map(([, , , time]) => Number(time))[0];
  const [boot, begin] = [at("boot"), at("begin")];
  return { ...boot && { boot }, ...begin && { begin } };
}
