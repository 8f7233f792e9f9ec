// deno-lint-ignore-file no-console -- it tells on stderr how far it is
// Breaks the disk, the files and the processes under the product, and compares what clients were told with what is left.
import { within } from "../../src/model/time.ts";
import { seeded } from "../model/random.ts";
import { unmountAll } from "./faults/disk.ts";
import type { Kind, TrialResult } from "./faults/kind.ts";
import { killAll } from "./faults/processes.ts";
import type { Evaluation } from "./main.ts";

const KINDS: Readonly<Record<string, () => Promise<Kind>>> = {
  power: async () => (await import("./faults/power.ts")).power,
  full: async () => (await import("./faults/full.ts")).full,
  io: async () => (await import("./faults/io.ts")).io,
  hung: async () => (await import("./faults/io.ts")).hung,
  injuries: async () => (await import("./faults/injuries.ts")).injuries,
  engines: async () => (await import("./faults/engines.ts")).engines,
  answers: async () => (await import("./faults/answers.ts")).answers,
  killed: async () => (await import("./faults/killed.ts")).killed,
};

const SHOWN_VIOLATIONS = 20;
const ABANDON_MS = 120_000;
const ROOM_BYTES = 4 * 1024 ** 3;

export const evaluation: Evaluation = {
  options: {
    trials: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
    /** Only these kinds; without it all. */
    kind: { type: "string", multiple: true },
    /** The number of the first trial: a trial can be made again alone. */
    from: { type: "string", default: "0" },
    /** The same trials without the fault: whatever they find is a mistake of the harness. */
    harmless: { type: "boolean" },
  },
  async run({ trials, seed, kind, from, harmless }) {
    const names = (kind as unknown as string[] | undefined) ?? Object.keys(KINDS);
    const unknown = names.find((name) => !(name in KINDS));
    if (unknown) throw new Error(`--kind is one of ${Object.keys(KINDS).join(", ")}, not ${unknown}`);
    const series = { trials: Number(trials), seed: Number(seed), from: Number(from), isHarmless: Boolean(harmless) };
    const figures: Record<string, unknown> = { seed: series.seed, ...harmless && { harmless: true } };
    for (const name of names) figures[name] = await runKind(name, await KINDS[name]!(), series);
    return figures;
  },
};

interface Series {
  readonly trials: number;
  readonly seed: number;
  readonly from: number;
  readonly isHarmless: boolean;
}

async function runKind(name: string, kind: Kind, series: Series): Promise<Record<string, unknown>> {
  const { trials, seed, from, isHarmless } = series;
  const skipped = await kind.missing();
  if (skipped) {
    console.error(`${name}: skipped, ${skipped}`);
    return { trials: 0, violations: 0, skipped };
  }
  await using root = await createRoot(name);
  const began = performance.now();
  const runTrial = await kind.prepare(root.dir);
  const texts: string[] = [];
  const scenes: Record<string, { trials: number; violated: number }> = {};
  const sums: Record<string, number> = {};
  for (let number = from; number < from + trials; number++) {
    const random = seeded(seed * 1_000_003 + number);
    const { scene, violations, counts = {} } = await bounded(runTrial({ number, random, isHarmless }), kind, root.dir);
    const count = scenes[scene] ??= { trials: 0, violated: 0 };
    count.trials++;
    for (const [key, value] of Object.entries(counts)) sums[key] = (sums[key] ?? 0) + value;
    if (violations.length > 0) count.violated++;
    texts.push(...violations.map((text) => `trial ${number} (${scene}): ${text}`));
    console.error(`${name} ${number} (${scene}): ${violations.length === 0 ? "held" : violations.join("; ")}`);
  }
  return {
    trials,
    violations: texts.length,
    violated: Object.values(scenes).reduce((sum, { violated }) => sum + violated, 0),
    ...sums,
    scenes,
    seconds: Math.round((performance.now() - began) / 1000),
    texts: texts.slice(0, SHOWN_VIOLATIONS),
  };
}

/** A trial that hangs is a violation; what it left is ended, and the next one waits for it. */
async function bounded(trial: Promise<TrialResult>, { limitMs }: Kind, root: string): Promise<TrialResult> {
  try {
    return await within(trial, limitMs, `the trial did not end within ${limitMs / 1000} s`);
  } catch (error) {
    await killAll(root);
    await within(trial.catch(() => {}), ABANDON_MS, "a trial cannot be ended");
    await clear(root);
    return { scene: "harness", violations: [String((error as Error).message)] };
  }
}

/** A folder for one kind, with a way to remove all that hangs on it: processes, mounts, files; also after Ctrl-C. */
async function createRoot(name: string): Promise<AsyncDisposable & { readonly dir: string }> {
  const dir = await Deno.makeTempDir({ dir: await roomy(), prefix: `ac-${name}-` });
  const remove = async () => {
    try {
      await clear(dir);
      await Deno.remove(dir, { recursive: true });
    } catch (error) {
      console.error(`${dir} is left behind: ${(error as Error).message}`);
    }
  };
  const interrupted = () => void remove().finally(() => Deno.exit(130));
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, interrupted);
  return {
    dir,
    async [Symbol.asyncDispose]() {
      for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(signal, interrupted);
      await remove();
    },
  };
}

async function clear(dir: string): Promise<void> {
  await killAll(dir);
  await unmountAll(dir);
}

/** In memory where there is room: a trial then waits for no disk but its own. */
async function roomy(): Promise<string | undefined> {
  const { statfs } = await import("node:fs/promises");
  const room = await statfs("/dev/shm").then(({ bavail, bsize }) => bavail * bsize, () => 0);
  return room > ROOM_BYTES ? "/dev/shm" : undefined;
}
