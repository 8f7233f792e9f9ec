// How much longer than its critical path a workflow takes, at the client, through `serve`, the engine and a real server.
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { AS_INSTALLED, createTestHome, type TestHome, testServer } from "../fixtures/gateway.ts";
import { createRepository } from "../fixtures/repository.ts";
import { type Random, seeded } from "../model/random.ts";
import { durabilityOf } from "./durability.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";
import { criticalPath, type DagTask, kindOf, randomDag } from "./random_dag.ts";

const LIFTED = { concurrency: 1_000, server_concurrency: 1_000 };

export const evaluation: Evaluation = {
  options: {
    runs: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    "warm-ms": { type: "string", default: "10000" },
    /** `power` or `process`, as in the configuration. */
    durability: { type: "string", default: "power" },
    /** So many further runs record the files of a repository around each task that acts. */
    snapshots: { type: "string", default: "0" },
  },
  async run({ runs, seed, "warm-ms": warmMs, durability, snapshots }) {
    await using home = await createTestHome({
      servers: { worker: testServer("worker") },
      limits: LIFTED,
      durability: durabilityOf(durability),
    }, AS_INSTALLED);
    await using client = await connectClient(home);
    const random = seeded(Number(seed));
    const warming = seeded(0);
    // What is measured is the day, not its first seconds, in which a new home learns what tools there are in the world.
    await client.call("search_tools", { query: "get an item" });
    const warmUntil = performance.now() + Number(warmMs);
    do await runOnce(client, drawn(warming, [5, 20])); while (performance.now() < warmUntil);
    const measured: Measured[] = [];
    for (let i = 0; i < Number(runs); i++) measured.push(await runOnce(client, drawn(random, [5, 200])));
    const recorded = Number(snapshots) > 0
      ? await runsOverFiles(home, drawnBy(seeded(Number(seed))), Number(snapshots))
      : [];
    const ratios = measured.map(({ wall, path }) => wall / path);
    const overheads = measured.map(({ wall, path }) => wall - path);
    const { p50, p95 } = quantiles(ratios);
    return {
      n: measured.length,
      p50,
      p95,
      max: round(Math.max(...ratios)),
      // By the run's own clock: without the way to the engine and back.
      engine: shape(measured.map(({ engine, path }) => engine / path)),
      ...recorded.length > 0 && { with_snapshots: shape(recorded.map(({ wall, path }) => wall / path)) },
      overhead_ms: shape(overheads),
      critical_path_ms: shape(measured.map(({ path }) => path)),
      // Where it goes: from the request to the first call, from the last of a task's parents to its own call, and from
      // the last call to the answer.
      head_ms: shape(measured.map(({ head }) => head)),
      gap_read_ms: shape(measured.flatMap(({ gaps }) => gaps.read)),
      gap_effectful_ms: shape(measured.flatMap(({ gaps }) => gaps.effectful)),
      tail_ms: shape(measured.map(({ tail }) => tail)),
    };
  },
};

interface Measured {
  /** Milliseconds at the client, by the run's own clock, and along the critical path. */
  readonly wall: number;
  readonly engine: number;
  readonly path: number;
  readonly head: number;
  readonly tail: number;
  readonly gaps: Readonly<Record<"read" | "effectful", readonly number[]>>;
}

const drawnBy = (random: Random) => () => drawn(random, [5, 200]);

function drawn(random: Random, ms: readonly [number, number]): DagTask[] {
  return randomDag(random, { tasks: [5, 60], ms, kinds: ["read", "effectful"] });
}

const FILES = 1_000;

/** The same runs over a repository whose files are recorded before and after each task that acts. */
async function runsOverFiles(home: TestHome, draw: () => DagTask[], count: number): Promise<Measured[]> {
  const names = Array.from({ length: FILES }, (_, n) => [`src/${n % 20}/file-${n}.ts`, `export const n = ${n};\n`]);
  await using repository = await createRepository(Object.fromEntries(names));
  await using client = await connectClient(home, { cwd: repository.dir });
  const measured: Measured[] = [];
  for (let i = 0; i < count; i++) measured.push(await runOnce(client, draw(), { snapshot: true }));
  return measured;
}

let token = 0;

async function runOnce(client: RawClient, tasks: readonly DagTask[], more = {}): Promise<Measured> {
  const input = { tasks, options: { return: tasks.map(({ id }) => id), ...more } };
  client.others.length = 0;
  const began = performance.now();
  const result = await client.call("run_workflow", input, { progressToken: ++token });
  const wall = performance.now() - began;
  const { status, results, stats } = JSON.parse(textOf(result)) as Answer;
  if (status !== "completed") throw new Error(`a run did not complete: ${textOf(result)}`);
  const calls = Object.values(results);
  const sent = performance.timeOrigin + began;
  return {
    wall,
    engine: stats.wall_ms,
    path: criticalPath(tasks, new Map(Object.entries(results).map(([id, { ms }]) => [id, ms]))),
    head: Math.min(...calls.map((call) => call.began)) - sent,
    tail: sent + wall - Math.max(...calls.map(endOf)),
    gaps: gapsOf(tasks, results),
  };
}

/** How long after the last of its parents each task was called. */
function gapsOf(tasks: readonly DagTask[], results: Answer["results"]): Measured["gaps"] {
  const gaps = { read: [] as number[], effectful: [] as number[] };
  for (const task of tasks) {
    if (task.depends_on.length === 0) continue;
    const ready = Math.max(...task.depends_on.map((id) => endOf(results[id]!)));
    gaps[kindOf(task) as "read" | "effectful"].push(results[task.id]!.began - ready);
  }
  return gaps;
}

function endOf({ began, ms }: Call): number {
  return began + ms;
}

/** What the server says of a call: when it read it, by the clock of the machine, and how long it took. */
interface Call {
  readonly began: number;
  readonly ms: number;
}

interface Answer {
  readonly status: string;
  readonly results: Readonly<Record<string, Call>>;
  readonly stats: { readonly wall_ms: number };
}

function shape(values: readonly number[]): Record<string, number> {
  const { p50, p95 } = quantiles(values);
  return { p50, p95, max: round(Math.max(...values)) };
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
