// deno-lint-ignore-file no-console -- it tells on stderr how far it is
// One session and its server attack the engine; meanwhile another session calls an innocent server every few milliseconds.
import { connectClient, type RawClient } from "../fixtures/client.ts";
import { AS_INSTALLED, createTestHome, isAlive, sleep, type TestHome, testServer } from "../fixtures/gateway.ts";
import type { Order, Report } from "./attacks_innocent.ts";
import type { Evaluation } from "./main.ts";
import { rssMb } from "./startup.ts";

/** What an attack needs: its own client, whose server is called `bad`. */
export interface Scene {
  readonly home: TestHome;
  readonly client: RawClient;
  readonly seconds: number;
}

interface Attack {
  /** The mode of tests/servers/attacker.ts; that of the attack's name where there is none. */
  readonly mode?: string;
  readonly config?: Record<string, unknown>;
  readonly capabilities?: Record<string, unknown>;
  run(scene: Scene): Promise<unknown>;
}

/** The figures of one attack. */
export interface Figures {
  readonly calls: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly max_ms: number;
  readonly peak_mb: number;
  readonly later_mb: number;
  readonly alive: boolean;
}

const workflow = (client: RawClient, tasks: readonly unknown[]) => client.call("run_workflow", { tasks });
const act = ({ client }: Scene) => client.use("bad:act", {}, { progressToken: "p" });
/** Reads the attacker's list first: the lists of servers that no session has used are not known. */
const known = async (client: RawClient) => void await client.call("search_tools", { server: "bad" });
const many = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));

/** Does an attack again until its time is over, three times at least. */
async function again(seconds: number, work: () => Promise<unknown>): Promise<void> {
  const until = performance.now() + seconds * 1_000;
  for (let i = 0; i < 3 || performance.now() < until; i++) await work();
}

export const ATTACKS: Readonly<Record<string, Attack>> = {
  nothing: { run: ({ seconds }) => sleep(seconds * 1_000) },
  names: {
    async run({ client, seconds }) {
      await known(client);
      const unknown = (i: number) => ({ id: `t${i}`, tool: `bad:${"abcdefghij".repeat(11)}${i}x`, arguments: {} });
      await again(seconds, () => workflow(client, many(1_000, unknown)));
    },
  },
  tasks: {
    mode: "names",
    async run({ client, seconds }) {
      await known(client);
      await again(seconds, () => workflow(client, many(50_000, (i) => ({ id: `t${i}`, tool: `bad:no${i}` }))));
    },
  },
  compile: {
    async run({ client, seconds }) {
      await known(client);
      await again(seconds, () => workflow(client, [{ id: "a", tool: "bad:slow", arguments: { p1: "a" } }]));
    },
  },
  schemas: {
    async run({ client, seconds }) {
      await known(client);
      const task = (i: number) => ({ id: `t${i}`, tool: `bad:t${i}`, arguments: { p1: "a", p2: 5 } });
      await again(seconds, () => workflow(client, many(400, task)));
    },
  },
  validate: {
    async run({ client, seconds }) {
      await known(client);
      const list = many(3_000, (i) => i + 10_000);
      await again(seconds, () => workflow(client, [{ id: "a", tool: "bad:slow", arguments: { list } }]));
    },
  },
  misspelt: {
    async run({ client, seconds }) {
      await known(client);
      const args = Object.fromEntries(many(20_000, (i) => [`other_${i}`, i]));
      await again(seconds, () => client.use("bad:slow", args));
    },
  },
  types: {
    async run({ client, seconds }) {
      await known(client);
      const search = (detail: string) => client.call("search_tools", { query: "render", limit: 50, detail });
      await again(seconds, () => Promise.all(["types", "signature", "schema"].map(search)));
    },
  },
  messages: { run: act },
  "odd messages": { run: act },
  "large messages": { run: act },
  progress: { run: act },
  changes: { run: act },
  garbage: { run: act },
  pings: { run: act },
  answers: { run: act },
  deep: { run: ({ client, seconds }) => again(seconds, () => client.use("bad:act")) },
  "changing list": { run: ({ client }) => client.use("bad:act") },
  "large list": { run: ({ client }) => client.call("search_tools", { server: "bad" }) },
  "million tools": { run: ({ client }) => client.call("search_tools", { server: "bad" }) },
  journal: {
    async run({ client, seconds }) {
      const task = (i: number) => ({ id: `t${i}`, tool: "bad:act", arguments: { value: randomText(8_000), i } });
      await again(seconds, () => workflow(client, many(900, task)));
    },
  },
  approval: {
    config: { policy: { approve: ["bad:act"] } },
    capabilities: { elicitation: {} },
    async run({ client, seconds }) {
      const invisible = "\u200b".repeat(5_000_000);
      await again(seconds, async () => {
        let isAnswered = false;
        const called = client.use("bad:act", { invisible }).finally(() => isAnswered = true);
        for (; !isAnswered; await sleep(20)) {
          for (const { id, method } of client.others.splice(0)) {
            if (method === "elicitation/create") await client.send({ id, result: { action: "decline" } });
          }
        }
        await called;
      });
    },
  },
};

function randomText(length: number): string {
  return crypto.getRandomValues(new Uint8Array(length / 2)).toHex();
}

export interface Timing {
  /** How long the attack goes on, and how long after it the memory is looked at, in seconds. */
  readonly seconds: number;
  readonly later: number;
}

interface Innocent {
  measure(): void;
  /** Resolves with the time of each call in milliseconds. */
  stop(): Promise<readonly number[]>;
}

async function startInnocent({ dir, env }: TestHome): Promise<Innocent> {
  const worker = new Worker(new URL("./attacks_innocent.ts", import.meta.url), { type: "module" });
  const order = (order: Order) => worker.postMessage(order);
  const answer = () =>
    new Promise<Report>((resolve) => worker.onmessage = ({ data }: MessageEvent<Report>) => resolve(data));
  order({ dir, env });
  const ready = await answer();
  if (ready !== "ready") throw new Error(JSON.stringify(ready));
  return {
    measure: () => order("measure"),
    async stop() {
      order("stop");
      const report = await answer();
      worker.terminate();
      if (typeof report !== "object" || "error" in report) throw new Error(JSON.stringify(report));
      return report.times;
    },
  };
}

/** Makes one attack on an engine of its own. */
export async function attack(name: string, { seconds, later }: Timing): Promise<Figures> {
  const { mode = name, config, capabilities, run } = ATTACKS[name]!;
  const servers = { good: testServer("kit", "--name=good"), bad: testServer("attacker", mode, String(seconds)) };
  await using home = await createTestHome({ servers, ...config }, AS_INSTALLED);
  const innocent = await startInnocent(home);
  await using client = await connectClient(home, capabilities ? { capabilities } : {});
  const engine = (await home.enginePid())!;
  let peak = 0;
  let isOver = false;
  const looking = (async () => {
    for (; !isOver; await sleep(50)) peak = Math.max(peak, await rssMb(engine).catch(() => 0));
  })();
  innocent.measure();
  let times: readonly number[];
  try {
    await run({ home, client, seconds });
    // What an attack leaves behind counts, too.
    await sleep(500);
  } finally {
    isOver = true;
    await looking;
    times = await innocent.stop();
  }
  await sleep(later * 1_000);
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round((sorted[Math.floor((sorted.length - 1) * share)] ?? NaN) * 100) / 100;
  return {
    calls: times.length,
    p50_ms: at(0.5),
    p95_ms: at(0.95),
    max_ms: at(1),
    peak_mb: Math.round(peak),
    later_mb: Math.round(await rssMb(engine).catch(() => 0)),
    alive: isAlive(engine) && await home.enginePid() === engine,
  };
}

export const evaluation: Evaluation = {
  options: {
    seconds: { type: "string", default: "4" },
    later: { type: "string", default: "10" },
    /** Only these attacks; without it all. */
    attack: { type: "string", multiple: true },
  },
  async run({ seconds, later, attack: only }) {
    const names = (only as unknown as string[] | undefined) ?? Object.keys(ATTACKS);
    const unknown = names.find((name) => !Object.hasOwn(ATTACKS, name));
    if (unknown) throw new Error(`--attack is one of ${Object.keys(ATTACKS).join(", ")}, not ${unknown}`);
    const figures: Record<string, Figures> = {};
    for (const name of names) {
      figures[name] = await attack(name, { seconds: Number(seconds), later: Number(later) });
      console.error(`${name}: ${JSON.stringify(figures[name])}`);
    }
    return figures;
  },
};
