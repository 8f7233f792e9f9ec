// deno-lint-ignore-file no-console -- it tells on stderr how far it is
// Runs many workflows under a bound on how many are kept: the size of the database, and the first call after a start.
import { connectClient } from "../fixtures/client.ts";
import {
  AS_INSTALLED,
  createTestHome,
  endProcess,
  isAlive,
  sleep,
  type TestHome,
  testServer,
  until,
} from "../fixtures/gateway.ts";
import { run, task } from "../fixtures/workflow.ts";
import { seeded } from "../model/random.ts";
import { durabilityOf } from "./durability.ts";
import { filesUnder } from "./faults/disk.ts";
import type { Evaluation } from "./main.ts";

const AT_ONCE = 8;
/** Maintenance looks every five seconds; the sizes are those of a home that was left alone for a moment. */
const SETTLE_MS = 15_000;
const STARTS = 3;

interface Sizes {
  readonly runs: number;
  readonly data_mb: number;
  readonly wal_mb: number;
}

export const evaluation: Evaluation = {
  options: {
    runs: { type: "string", default: "2000" },
    /** The most runs that are kept. */
    retention: { type: "string", default: "1000" },
    samples: { type: "string", default: "10" },
    /** The most characters of a value. */
    characters: { type: "string", default: "2000" },
    /** `power` or `process`, as in the configuration. */
    durability: { type: "string", default: "power" },
  },
  async run(values) {
    const [runs, retention] = [Number(values.runs), Number(values.retention)];
    const [samples, characters] = [Number(values.samples), Number(values.characters)];
    await using home = await createTestHome({
      servers: { kit: testServer("kit") },
      limits: { runs: retention },
      durability: durabilityOf(values.durability),
    }, AS_INSTALLED);
    const noise = noiseOf(characters);
    const sizes: Sizes[] = [];
    {
      await using client = await connectClient(home);
      let next = 0;
      for (let sample = 1; sample <= samples; sample++) {
        const end = Math.round(runs * sample / samples);
        await Promise.all(Array.from({ length: AT_ONCE }, async () => {
          while (next < end) {
            const n = next++;
            const text = `run ${n} ${noise.slice(0, n * 7_919 % characters)}`;
            const { status } = await run(client, [
              task("a", "kit:echo", { text }),
              task("b", "kit:echo", { text: "$OUTPUT[a]" }),
            ]);
            if (status !== "completed") throw new Error(`run ${n} is ${status}`);
          }
        }));
        client.others.length = 0;
        sizes.push(sizesOf(home, end));
        console.error(JSON.stringify(sizes.at(-1)));
      }
      await sleep(SETTLE_MS);
    }
    const settled = sizesOf(home, runs);
    const clean = await firstCalls(home, async () => void await home.run(["engine", "stop"]));
    const killed = await firstCalls(home, async () => await endProcess((await home.enginePid())!, "SIGKILL"));
    return {
      runs,
      retention,
      sizes,
      settled,
      most_data_mb: Math.max(...sizes.map(({ data_mb }) => data_mb)),
      most_wal_mb: Math.max(...sizes.map(({ wal_mb }) => wal_mb)),
      first_call_ms: { clean, killed },
    };
  },
};

/** Text that does not compress. */
function noiseOf(characters: number): string {
  const random = seeded(1);
  return Array.from({ length: characters }, () => random.below(36).toString(36)).join("");
}

function sizesOf({ dir }: TestHome, runs: number): Sizes {
  const mb = (folder: string) => Math.round(bytesUnder(folder) / 1024 / 102.4) / 10;
  return { runs, data_mb: mb(`${dir}/data`), wal_mb: mb(`${dir}/data/pg_wal`) };
}

function bytesUnder(folder: string): number {
  let bytes = 0;
  for (const path of filesUnder(folder)) {
    try {
      bytes += Deno.statSync(path).size;
    } catch {
      // Removed meanwhile.
    }
  }
  return bytes;
}

/** Milliseconds from the start of a client without an engine to the answer of its first direct call. */
async function firstCalls(home: TestHome, end: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < STARTS; i++) {
    // The engine of before has the database open, so that its end leaves what such an end leaves.
    await home.run(["runs", "--limit", "1"]);
    const engine = (await home.enginePid())!;
    await end();
    await until("the engine is gone", () => !isAlive(engine));
    const began = performance.now();
    await using client = await connectClient(home);
    await client.use("kit:echo", { text: "first" });
    times.push(Math.round(performance.now() - began));
  }
  return times;
}
