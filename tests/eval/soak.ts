// A working day in small: a steady stream of calls of every kind over three servers, while memory and handles are watched.
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { AS_INSTALLED, createTestHome, npmServer, sleep, testServer } from "../fixtures/gateway.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";
import { rssMb } from "./startup.ts";

interface Sample {
  readonly minute: number;
  readonly engine_mb: number;
  readonly serve_mb: number;
  readonly handles: number;
}

/** What is called in turn; each gives what its answer must hold. */
const CALLS: readonly ((client: RawClient, i: number) => Promise<boolean>)[] = [
  async (client, i) => textOf(await client.use("kit:echo", { text: `n${i}` })) === `kit: n${i}`,
  async (client, i) => textOf(await client.use("modern:add", { a: i, b: 1 })) === String(i + 1),
  async (client, i) => textOf(await client.use("everything:echo", { message: `m${i}` })).includes(`m${i}`),
  async (client) => (await client.use("kit:rows", { count: 500 })).structuredContent !== undefined,
  async (client) => (await client.use("kit:everything")).content.length === 6,
  async (client) => (await client.use("modern:fail")).isError === true,
  async (client, i) =>
    textOf(await client.use("kit:wait", { ms: 20, steps: 2 }, { progressToken: `t${i}` })) === "waited",
];

export const evaluation: Evaluation = {
  options: {
    minutes: { type: "string", default: "20" },
    rate: { type: "string", default: "20" },
    /** How much of the time is not counted: caches fill and code is compiled. */
    warm_up: { type: "string", default: "0.25" },
  },
  async run(values) {
    const [minutes, rate, warmUp] = [values.minutes, values.rate, values.warm_up].map(Number) as [
      number,
      number,
      number,
    ];
    const servers = {
      kit: testServer("kit"),
      modern: testServer("kit", "--modern", "--name=modern"),
      everything: npmServer("everything"),
    };
    await using home = await createTestHome({ servers }, AS_INSTALLED);
    await using client = await connectClient(home, { capabilities: { elicitation: {} } });
    await Promise.all(CALLS.map((call, i) => call(client, i)));
    const engine = (await home.enginePid())!;
    const samples: Sample[] = [];
    const times: number[] = [];
    let [calls, errors] = [0, 0];
    const first: string[] = [];
    const began = performance.now();
    const minute = () => (performance.now() - began) / 60_000;
    const open = new Set<Promise<void>>();
    let nextSample = 0;
    while (minute() < minutes) {
      if (minute() >= nextSample) {
        samples.push({ minute: minute(), ...await look(engine, client.pid) });
        nextSample += minutes / 120;
        // What a client is told beside its answers is not ours to keep.
        client.others.length = 0;
      }
      const i = calls++;
      const at = performance.now();
      const one: Promise<void> = CALLS[i % CALLS.length]!(client, i).then((isRight) => {
        times.push(performance.now() - at);
        if (!isRight) throw new Error(`call ${i} got a wrong answer`);
      }).catch((error) => {
        errors++;
        if (first.length < 3) first.push(String(error));
      }).finally(() => open.delete(one));
      open.add(one);
      await sleep(Math.max(0, began + calls * 1_000 / rate - performance.now()));
    }
    await Promise.all(open);
    samples.push({ minute: minute(), ...await look(engine, client.pid) });
    const counted = samples.filter((sample) => sample.minute >= minutes * warmUp);
    const handles = counted.map((sample) => sample.handles);
    return {
      minutes,
      calls,
      errors,
      ...first.length > 0 && { first_errors: first },
      ms: quantiles(times),
      engine_mb: [round(counted[0]!.engine_mb), round(counted.at(-1)!.engine_mb)],
      serve_mb: [round(counted[0]!.serve_mb), round(counted.at(-1)!.serve_mb)],
      slope_mb_per_minute: round(slope(counted.map((one) => [one.minute, one.engine_mb + one.serve_mb]))),
      handles: { first: handles[0]!, last: handles.at(-1)!, most: Math.max(...handles) },
    };
  },
};

async function look(engine: number, serve: number): Promise<Omit<Sample, "minute">> {
  const handles = await Promise.all(
    [engine, serve].map(async (pid) => (await Array.fromAsync(Deno.readDir(`/proc/${pid}/fd`))).length),
  );
  return { engine_mb: await rssMb(engine), serve_mb: await rssMb(serve), handles: handles[0]! + handles[1]! };
}

/** The straight line through points that misses them least, by how much it climbs. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (which: 0 | 1) => points.reduce((sum, point) => sum + point[which], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const spread = points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
  return spread === 0 ? 0 : points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0) / spread;
}

const round = (value: number) => Math.round(value * 100) / 100;
