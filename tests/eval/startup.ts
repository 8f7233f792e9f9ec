// From spawn to the answered tools/list: a server of npm started directly, against `serve` without and with an engine.
import { locateHome } from "../../src/config/home.ts";
import { askEngine, type MethodName, type Result } from "../../src/control/mod.ts";
import { connectClient, type RawClient } from "../fixtures/client.ts";
import {
  AS_INSTALLED,
  createTestHome,
  endProcess,
  isAlive,
  npmServer,
  PROGRAM,
  sleep,
  type TestHome,
  until,
} from "../fixtures/gateway.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";

/** Servers really started before the ends are pulled. */
const USED = 3;
const LEFT_AFTER_MS = 2_000;
const SERVE = [...PROGRAM, "serve"];

export const evaluation: Evaluation = {
  options: { servers: { type: "string", default: "15" }, rounds: { type: "string", default: "9" } },
  async run({ servers, rounds }) {
    const everything = npmServer("everything");
    const names = Array.from({ length: Number(servers) }, (_, i) => `everything${i + 1}`);
    await using home = await createTestHome({}, AS_INSTALLED);
    // Servers get a cleared environment; this variable tells whose they are.
    const config = { ...everything, env: { EVAL_HOME: home.dir } };
    const entries = names.map((name) => [name, config]);
    await Deno.writeTextFile(`${home.dir}/config.yaml`, JSON.stringify({ servers: Object.fromEntries(entries) }));
    const indexed = await ask(home, "index");
    const failed = indexed.find(({ ok }) => !ok);
    if (failed || indexed.length !== names.length) throw new Error(`indexing failed: ${failed?.error}`);

    const direct = [everything.command, ...everything.args];
    const times = { direct: [] as number[], cold: [] as number[], warm: [] as number[] };
    let children = 0;
    // In turns, so that whatever else the machine does hits all alike. The first round only fills the disk cache.
    for (let round = 0; round <= Number(rounds); round++) {
      await stopEngine(home);
      const took = {
        direct: await startOnce(direct, home),
        cold: await startOnce(SERVE, home),
        warm: { ms: 0, children: 0 },
      };
      // What the new engine opens behind the answered list must not slow down the next measurement.
      await ask(home, "status");
      took.warm = await startOnce(SERVE, home);
      children += took.cold.children + took.warm.children;
      if (round > 0) { for (const way of ["direct", "cold", "warm"] as const) times[way].push(took[way].ms); }
    }
    const [near, cold, warm] = [times.direct, times.cold, times.warm].map((list) => quantiles(list).p50);
    return {
      servers: names.length,
      rounds: times.direct.length,
      direct_ms: near,
      cold_ms: cold,
      warm_ms: warm,
      cold_ratio: round2(cold! / near!),
      warm_ratio: round2(warm! / near!),
      children,
      ...await memory(home),
      orphans: await orphans(home, names.slice(0, USED)),
    };
  },
};

interface Start {
  readonly ms: number;
  readonly children: number;
}

/** Starts a program, shakes hands, lists its tools, closes it; counts the servers that this started. */
async function startOnce(program: readonly string[], home: TestHome): Promise<Start> {
  const began = performance.now();
  const child = new Deno.Command(program[0]!, {
    args: program.slice(1),
    env: home.env,
    cwd: home.dir,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  const lines = readLines(child.stdout);
  const send = (message: Record<string, unknown>) =>
    writer.write(new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n"));
  const clientInfo = { name: "eval", version: "1" };
  await send({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
  await answer(lines, 1);
  await send({ method: "notifications/initialized" });
  await send({ id: 2, method: "tools/list" });
  await answer(lines, 2);
  const ms = performance.now() - began;
  const children = (await processesOf(home.dir)).filter(({ isServer }) => isServer).length;
  await writer.close();
  while (!(await lines.next()).done);
  await child.status;
  return { ms, children };
}

async function answer(lines: AsyncGenerator<string>, id: number): Promise<void> {
  for (;;) {
    const { value, done } = await lines.next();
    if (done) throw new Error("the program ended before it answered");
    const message = JSON.parse(value);
    if (message.id !== id || message.method) continue;
    if (message.error) throw new Error(JSON.stringify(message.error));
    return;
  }
}

async function* readLines(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string, undefined> {
  let rest = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}

async function memory(home: TestHome): Promise<{ serve_rss_mb: number; engine_rss_mb: number }> {
  await using client = await connectClient(home);
  await client.request("tools/list");
  await ask(home, "status");
  await sleep(500);
  return { serve_rss_mb: await rssMb(client.pid), engine_rss_mb: await rssMb((await home.enginePid())!) };
}

/** Processes left two seconds after each way in which a session can end, with servers running before. */
async function orphans(home: TestHome, names: readonly string[]): Promise<number> {
  const left = async () => {
    await sleep(LEFT_AFTER_MS);
    const engine = await home.enginePid();
    return (await processesOf(home.dir)).filter(({ pid }) => pid !== engine).length;
  };
  const requireServers = async () => {
    const running = (await processesOf(home.dir)).filter(({ isServer }) => isServer);
    if (running.length < names.length) throw new Error("the servers were not started");
  };
  const closed = await useServers(home, names);
  await requireServers();
  closed.close();
  let count = await left();

  // A client in a process of its own: killed, it takes its ends of the pipes along.
  const own = ["run", "-A", "--quiet", "--cached-only", import.meta.filename!, ...names];
  const client = new Deno.Command(Deno.execPath(), { args: own, env: home.env, stdin: "null", stdout: "piped" })
    .spawn();
  await readLines(client.stdout).next();
  await requireServers();
  client.kill("SIGKILL");
  await client.status;
  count += await left();

  const open = await useServers(home, names);
  const engine = (await home.enginePid())!;
  const family = await childrenOf(engine);
  if (family.length < names.length) throw new Error("the servers were not started");
  Deno.kill(engine, "SIGKILL");
  await sleep(LEFT_AFTER_MS);
  count += family.filter(isAlive).length;
  open.close();
  return count + await left();
}

async function useServers(home: TestHome, names: readonly string[]): Promise<RawClient> {
  const client = await connectClient(home);
  for (const name of names) await client.use(`${name}:echo`, { message: "here" });
  return client;
}

if (import.meta.main) {
  const env = Deno.env.toObject();
  await useServers({ env, dir: env.AGENTCARDS_HOME } as TestHome, Deno.args);
  Deno.stdout.writeSync(new TextEncoder().encode("ready\n"));
}

export interface HomeProcess {
  readonly pid: number;
  /** Whether it is a server, or something that a server started. */
  readonly isServer: boolean;
}

/** Every process that carries this folder in its environment, ourselves and zombies left out. */
export async function processesOf(folder: string): Promise<HomeProcess[]> {
  const found: HomeProcess[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === Deno.pid) continue;
    const environment = await Deno.readTextFile(`/proc/${pid}/environ`).catch(() => "");
    if (environment.includes(folder) && isAlive(pid)) {
      found.push({ pid, isServer: environment.includes("AGENTCARDS_CHILD=") });
    }
  }
  return found;
}

/** Ends a home with all that runs in it, also an engine that is only just starting and has not told its pid yet. */
export async function endHome(home: TestHome): Promise<void> {
  for (let quiet = 0; quiet < 5; quiet++) {
    for (const { pid } of await processesOf(home.dir).catch(() => [])) {
      await endProcess(pid, "SIGKILL");
      quiet = 0;
    }
    await sleep(20);
  }
  await home[Symbol.asyncDispose]();
}

async function childrenOf(parent: number): Promise<number[]> {
  const found: number[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    const status = await Deno.readTextFile(`/proc/${Number(name)}/status`).catch(() => "");
    if (new RegExp(`^PPid:\\s+${parent}$`, "m").test(status)) found.push(Number(name));
  }
  return found;
}

/** Resident memory of a process; 0 when it is gone. */
export async function rssMb(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 102.4) / 10;
}

/** Asks the home's engine, starting it when there is none. */
export function ask<M extends MethodName>(home: TestHome, method: M): Promise<Result<M>> {
  return askEngine({ home: locateHome(home.env), cwd: home.dir, env: home.env, program: PROGRAM }, { method });
}

async function stopEngine(home: TestHome): Promise<void> {
  const pid = await home.enginePid();
  if (!pid || !isAlive(pid)) return;
  await ask(home, "stop");
  await until("the engine's end", () => !isAlive(pid));
}

function round2(value: number): number {
  return Math.round(value * 100) / 100;
}
