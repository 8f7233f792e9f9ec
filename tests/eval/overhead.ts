// What a call costs through `serve` and the engine, against the same call straight to the server, in one run.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { AS_INSTALLED, createTestHome, npmServer, PROGRAM, type TestHome } from "../fixtures/gateway.ts";
import { commandOf, descendantsOf, ticksOf } from "../fixtures/processes.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";

const BLOCK = 100;
const PARALLEL = 100;
const ROUNDS = 15;
/** The kernel counts in hundredths of a second: so many calls make a hundredth small. */
const COUNTED_CALLS = 3_000;
/** After the last call, until what was gathered has been recorded and learned. */
const LEARNED_MS = 3_000;

type Call = (message: string) => Promise<unknown>;

export const evaluation: Evaluation = {
  options: { calls: { type: "string", default: "1000" } },
  async run({ calls }) {
    const server = npmServer("everything");
    await using home = await createTestHome({ servers: { everything: server } }, AS_INSTALLED);
    const direct = await connect(server.command, server.args, home.env);
    const gateway = await connect(PROGRAM[0]!, [...PROGRAM.slice(1), "serve"], home.env);
    const echo: Record<string, Call> = {
      direct: (message) => direct.callTool({ name: "echo", arguments: { message } }),
      gateway: (message) =>
        gateway.callTool({ name: "call_tool", arguments: { tool: "everything:echo", arguments: { message } } }),
    };
    const times: Record<string, number[]> = { direct: [], gateway: [] };
    const together: Record<string, number[]> = { direct: [], gateway: [] };
    // What is measured is the day, not its first second: the database is open and both ways have been used.
    await home.run(["status"]);
    for (const call of Object.values(echo)) await sequence(call, 1_000);
    // In turns, so that whatever else the machine does hits both alike.
    for (let done = 0; done < Number(calls); done += BLOCK) {
      for (const [way, call] of Object.entries(echo)) times[way]!.push(...await sequence(call, BLOCK));
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const [way, call] of Object.entries(echo)) together[way]!.push(await parallel(call));
    }
    const processor = await processorTime(echo.gateway!, await pidsOf(gateway, home));
    await direct.close();
    await gateway.close();
    const [near, far] = [quantiles(times.direct!), quantiles(times.gateway!)];
    const [nearParallel, farParallel] = [quantiles(together.direct!), quantiles(together.gateway!)];
    return {
      calls: times.direct!.length,
      direct: near,
      gateway: far,
      ratio_p50: round(far.p50 / near.p50),
      parallel_ms: { direct: nearParallel.p50, gateway: farParallel.p50 },
      parallel_ratio: round(farParallel.p50 / nearParallel.p50),
      // Milliseconds of the processor per call, in all threads, with what is recorded and learned afterwards.
      cpu_ms: processor,
    };
  },
};

async function connect(command: string, args: string[], env: Record<string, string>): Promise<Client> {
  const client = new Client({ name: "eval", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command, args, env, stderr: "ignore" }));
  return client;
}

type Pids = Readonly<Record<"serve" | "engine" | "server", number>>;

async function pidsOf(gateway: Client, home: TestHome): Promise<Pids> {
  const engine = (await home.enginePid())!;
  const server = descendantsOf(engine).find((pid) => commandOf(pid).some((word) => word.includes("everything")));
  return { serve: (gateway.transport as StdioClientTransport).pid!, engine, server: server! };
}

async function processorTime(call: Call, pids: Pids): Promise<Record<string, number>> {
  const ticks = () => Object.values(pids).map(ticksOf);
  const before = ticks();
  await sequence(call, COUNTED_CALLS);
  await new Promise((resolve) => setTimeout(resolve, LEARNED_MS));
  const after = ticks();
  return Object.fromEntries(
    Object.keys(pids).map((name, i) => [name, round((after[i]! - before[i]!) * 10 / COUNTED_CALLS)]),
  );
}

async function sequence(call: Call, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const began = performance.now();
    await call(`message ${i}`);
    times.push(performance.now() - began);
  }
  return times;
}

async function parallel(call: Call): Promise<number> {
  const began = performance.now();
  await Promise.all(Array.from({ length: PARALLEL }, (_, i) => call(`message ${i}`)));
  return performance.now() - began;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
