// What running code costs: its start, each call from inside, and what is left behind; all through `execute_code`.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { AS_INSTALLED, createTestHome, npmServer, sleep, type TestHome } from "../fixtures/gateway.ts";
import { pathWithout } from "../fixtures/weaker_machine.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";
import { endHome } from "./startup.ts";

/** What stronger cages need: an engine that does not find it builds a weaker one. */
const MISSING: Readonly<Record<string, readonly string[]>> = { L0: ["prlimit", "bwrap"], L1: ["bwrap"], L2: [] };
/** Long enough that the next cage is ready again. */
const REST_MS = 150;

export const evaluation: Evaluation = {
  options: {
    level: { type: "string" },
    starts: { type: "string", default: "100" },
    runs: { type: "string", default: "200" },
    calls: { type: "string", default: "1000" },
  },
  async run({ level, starts, runs, calls }) {
    const server = npmServer("everything");
    const home = await createTestHome({ servers: { everything: server } }, AS_INSTALLED);
    const path = level === undefined
      ? undefined
      : await pathWithout(MISSING[level.toUpperCase()] ?? [], `${home.dir}/bin`);
    try {
      await using client = await connectClient(
        home,
        path === undefined ? {} : { env: { AGENTCARDS_SYSTEM_PATH: path } },
      );
      await execute(client, "return await everything.echo({ message: 'up' })");
      await home.run(["status"]);
      return {
        level: await levelOf(home),
        start_ms: await startTimes(client, Number(starts)),
        calls: await callTimes(client, { server, home, count: Number(calls) }),
        busy_ms: await answersMeanwhile(client),
        left: await leftAfter(client, home, Number(runs)),
      };
    } finally {
      await endHome(home);
    }
  },
};

async function execute(client: RawClient, code: string, more: Record<string, unknown> = {}): Promise<unknown> {
  const answer = JSON.parse(textOf(await client.call("execute_code", { code, ...more })));
  return answer.error ? answer.error.type : answer.result;
}

async function listed(folder: string): Promise<Deno.DirEntry[]> {
  return await Array.fromAsync(Deno.readDir(folder)).catch(() => []);
}

async function levelOf(home: TestHome): Promise<string> {
  const { stdout } = await home.run(["status", "--json"]);
  return `L${JSON.parse(stdout).sandbox.level}`;
}

async function startTimes(client: RawClient, count: number) {
  const times: number[] = [];
  for (let i = 0; i < count + 5; i++) {
    await sleep(REST_MS);
    const began = performance.now();
    if (await execute(client, "return 1") !== 1) throw new Error("code does not run");
    if (i >= 5) times.push(performance.now() - began);
  }
  return quantiles(times);
}

interface Calls {
  readonly server: { command: string; args: string[] };
  readonly home: TestHome;
  readonly count: number;
}

/** The same call straight to the server, through `call_tool`, and from code, one after another. */
async function callTimes(client: RawClient, { server, home, count }: Calls) {
  const direct = new Client({ name: "eval", version: "1.0.0" });
  await direct.connect(new StdioClientTransport({ ...server, env: home.env, stderr: "ignore" }));
  const loop = `const began = performance.now();
    for (let i = 0; i < ${count}; i++) await everything.echo({ message: "message " + i });
    return (performance.now() - began) / ${count};`;
  const each = async (call: (message: string) => Promise<unknown>) => {
    const began = performance.now();
    for (let i = 0; i < count; i++) await call(`message ${i}`);
    return (performance.now() - began) / count;
  };
  const rounds = { direct: [] as number[], call_tool: [] as number[], code: [] as number[] };
  for (let i = 0; i < 4; i++) {
    rounds.direct.push(await each((message) => direct.callTool({ name: "echo", arguments: { message } })));
    rounds.call_tool.push(await each((message) => client.use("everything:echo", { message })));
    rounds.code.push(await execute(client, loop) as number);
  }
  await direct.close();
  const [near, far, code] = [rounds.direct, rounds.call_tool, rounds.code].map((times) => quantiles(times).p50);
  return { direct_ms: near, call_tool_ms: far, code_ms: code, over_direct_ms: Math.round((code! - near!) * 100) / 100 };
}

/** How long a call takes while code keeps both cores busy. */
async function answersMeanwhile(client: RawClient) {
  const options = { options: { timeout_ms: 3_000 } };
  const burning = [1, 2].map(() => execute(client, "for (;;) {}", options));
  await sleep(200);
  const times: number[] = [];
  for (let i = 0; i < 100; i++) {
    const began = performance.now();
    await client.use("everything:echo", { message: "still there" });
    times.push(performance.now() - began);
    await sleep(10);
  }
  if ((await Promise.all(burning)).some((type) => type !== "TimeoutError")) throw new Error("the time was not held");
  return { ...quantiles(times), max: Math.round(Math.max(...times) * 100) / 100 };
}

/** What many runs leave behind: processes, open files, folders, memory of the engine. */
async function leftAfter(client: RawClient, home: TestHome, runs: number) {
  const engine = (await home.enginePid())!;
  for (let i = 0; i < 20; i++) await execute(client, "return 1");
  const before = await footprint(engine, home);
  for (let i = 0; i < runs; i++) await execute(client, "return new Array(1000).fill(1)");
  const after = await footprint(engine, home);
  return {
    runs,
    processes: after.processes - before.processes,
    files: after.files - before.files,
    folders: after.folders - before.folders,
    memory_mb: after.memoryMb - before.memoryMb,
  };
}

async function footprint(engine: number, home: TestHome) {
  // What was used last is on its way out, and the next ones are on their way in.
  await sleep(1_500);
  const proc = `/proc/${engine}`;
  const read = async (path: string) => await Deno.readTextFile(path).catch(() => "");
  const children = (await read(`${proc}/task/${engine}/children`)).split(" ").filter(Boolean);
  return {
    processes: children.length,
    files: (await listed(`${proc}/fd`)).length,
    folders: (await listed(`${home.dir}/cache/cages`)).length,
    memoryMb: Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(await read(`${proc}/status`))?.[1]) / 1_024),
  };
}
