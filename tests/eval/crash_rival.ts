// deno-lint-ignore-file no-console -- it tells on stderr how far it is
import type { Database } from "../../src/db/database.ts";
import { within } from "../../src/model/time.ts";
import { openEmptyDatabase } from "../fixtures/database.ts";
import { sleep } from "../fixtures/gateway.ts";
import { type Random, seeded } from "../model/random.ts";
import type { Rpc } from "./line_rpc.ts";
import { quantiles } from "./quantiles.ts";
import { type DagTask, randomDag } from "./random_dag.ts";
import { judgeRivals, type RivalVerdict } from "./rival_judge.ts";
import { type Rivals, startRivals } from "./rivals.ts";

const LEASE_MS = 300;
const TRIAL_MS = 30_000;
const MOST_PARTS = 100;

/** Two runners over one journal: one is stopped and comes back, or both want the same run, or one has been replaced. */
export async function rivalTrials({ trials, seed }: { trials: number; seed: number }) {
  const dir = await Deno.makeTempDir({ prefix: "ac-rival-" });
  const db = await openEmptyDatabase(`${dir}/data`);
  const total: RivalVerdict & Record<string, number> = {
    silent_reruns: 0,
    finished_reruns: 0,
    lost: 0,
    doubts: 0,
    in_doubt_surfaced: 0,
    double_executions: 0,
    unfenced_calls: 0,
    stale_rows: 0,
    doubts_not_begun: 0,
    takeovers: 0,
    double_takes: 0,
    zombie_calls: 0,
  };
  const errors: string[] = [];
  const recovered: number[] = [];
  let rivals: Rivals | undefined;
  try {
    for (let trial = 0; trial < trials; trial++) {
      const random = seeded(seed * 1_000_003 + trial);
      try {
        rivals ??= await startRivals({ db, dir, leaseMs: LEASE_MS });
        const found = await within(tryOnce({ random, rivals, db, run: `wf_${trial}` }), TRIAL_MS, "the trial hangs");
        for (const [key, value] of Object.entries(found.counts)) total[key]! += value;
        recovered.push(...found.recovered);
        const { doubts, in_doubt_surfaced, doubts_not_begun: _, takeovers: _t, zombie_calls: _z, ...bad } =
          found.counts;
        if (doubts !== in_doubt_surfaced || Object.values(bad).some((count) => count > 0)) {
          console.error(`trial ${trial} (${found.scenario}): ${JSON.stringify(found.counts)}`);
        }
      } catch (error) {
        errors.push(`trial ${trial}: ${(error as Error).message}`);
        console.error(errors.at(-1));
        await rivals?.end();
        rivals = undefined;
      }
      if ((trial + 1) % 10 === 0) console.error(`${trial + 1} of ${trials}`);
    }
  } finally {
    await rivals?.end();
    await db.close();
    await Deno.remove(dir, { recursive: true });
  }
  const { silent_reruns, finished_reruns, lost, doubts, in_doubt_surfaced, double_executions, ...more } = total;
  const recover_p50_ms = Math.round(quantiles(recovered).p50);
  const musts = { silent_reruns, finished_reruns, lost, doubts, in_doubt_surfaced, double_executions };
  return { trials, ...musts, recover_p50_ms, ...more, errors };
}

interface Trial {
  readonly random: Random;
  readonly rivals: Rivals;
  readonly db: Database;
  readonly run: string;
}

interface Scene extends Trial {
  readonly tasks: readonly DagTask[];
  /** The one who begins, and the one who takes over. */
  readonly first: Runner;
  readonly second: Runner;
  /** Lines of the file to wait for before something happens. */
  readonly lines: number;
}

interface Runner {
  readonly rpc: Rpc;
  readonly pid: number;
  readonly name: string;
}

/** What a scene came to: who took the run, under which epochs, and how long it took. */
interface Taken {
  readonly took: readonly { readonly runner: Runner; readonly epoch: number }[];
  readonly recovered: readonly number[];
  readonly doubleTakes?: number;
}

async function tryOnce({ random, rivals, db, run }: Trial) {
  const tasks = randomDag(random, { tasks: [5, 15], ms: [1, 30], kinds: ["read", "idempotent", "effectful"] });
  const [first, second] = random.below(2) === 0 ? rivals.runners : rivals.runners.toReversed();
  const scenario = (["stopped", "stopped", "wanted", "replaced"] as const)[random.below(4)]!;
  const lines = random.below(2 * tasks.length + 1);
  const scene: Scene = { random, rivals, db, run, tasks, first: first!, second: second!, lines };
  const { took, recovered, doubleTakes = 0 } = await SCENES[scenario](scene);
  const written = [];
  for (const { runner, epoch } of [{ runner: first!, epoch: 1 }, ...took]) {
    written.push(...await endOf(runner, run, epoch));
  }
  const verdict = await judgeRivals({ db, rivals, run, tasks, written });
  return {
    scenario,
    recovered,
    counts: { ...verdict, takeovers: took.length, double_takes: doubleTakes },
  };
}

/** Waits for all that a runner does with a run, through its pauses; returns the rows that it was told to be written. */
async function endOf({ rpc }: Runner, run: string, from: number) {
  const rows: { epoch: number; seq: number }[] = [];
  let epoch = from;
  for (let part = 0; part < MOST_PARTS; part++) {
    const { status, written } = await rpc.ask<{ status: string; written: number[] }>("end", { run, epoch });
    const under = epoch;
    rows.push(...written.map((seq) => ({ epoch: under, seq })));
    const next = /^continued (\d+)$/.exec(status)?.[1];
    if (next === undefined) return rows;
    epoch = Number(next);
  }
  throw new Error(`${run} never ends`);
}

const SCENES: Record<"stopped" | "wanted" | "replaced", (scene: Scene) => Promise<Taken>> = {
  stopped,
  wanted,
  replaced,
};

/** A runner stands still for longer than its lease, another one takes over, and then the first one goes on. */
async function stopped({ random, rivals, run, tasks, first, second, lines }: Scene): Promise<Taken> {
  await first.rpc.ask("begin", { run, journal: 0, tasks, options: {} });
  await rivals.waitForLines(run, lines);
  spin(random.below(51) / 10);
  Deno.kill(first.pid, "SIGSTOP");
  const since = performance.now();
  try {
    await sleep(LEASE_MS + random.below(200));
    const when = random.below(3);
    // Back in the very moment in which the other one reaches for its run.
    if (when === 0) Deno.kill(first.pid, "SIGCONT");
    const epoch = await takeUntil(second, run, () => Promise.resolve());
    if (epoch === 0) return { took: [], recovered: [] };
    const recovered = [performance.now() - since - LEASE_MS];
    if (when === 1) await sleep(random.below(100));
    if (when === 2) await endOf(second, run, epoch);
    return { took: [{ runner: second, epoch }], recovered };
  } finally {
    Deno.kill(first.pid, "SIGCONT");
  }
}

/** Both want the same run at once, one that rests. */
async function wanted({ random, run, tasks, first, second }: Scene): Promise<Taken> {
  const pause_after = [tasks[random.below(tasks.length)]!.id];
  await first.rpc.ask("begin", { run, journal: 0, tasks, options: { pause_after } });
  const took: { runner: Runner; epoch: number }[] = [];
  let doubleTakes = 0;
  for (let round = 0; round < MOST_PARTS; round++) {
    for (const { runner, epoch } of [{ runner: first, epoch: 1 }, ...took]) await endOf(runner, run, epoch);
    const named = { run, journal: 1 };
    const both = [first, second];
    const [status] = await Promise.all(both.map(({ rpc }) => rpc.ask<string>("look", named)));
    if (status !== "paused") return { took, recovered: [], doubleTakes };
    const epochs = await Promise.all(both.map(({ rpc }) => rpc.ask<number>("grab", named)));
    const winners = epochs.filter((epoch) => epoch > 0).length;
    if (winners === 0) throw new Error("nobody got the run");
    doubleTakes += winners - 1;
    epochs.forEach((epoch, i) => epoch > 0 && took.push({ runner: both[i]!, epoch }));
  }
  throw new Error(`${run} never ends`);
}

/** A runner that works on knows nothing yet of the one who has its run now, maybe in its own process. */
async function replaced({ random, rivals, db, run, tasks, first, second, lines }: Scene): Promise<Taken> {
  await first.rpc.ask("begin", { run, journal: 0, tasks, options: {} });
  await rivals.waitForLines(run, lines);
  const taker = random.below(2) === 0 ? first : second;
  const since = performance.now();
  const epoch = await takeUntil(taker, run, async () => {
    await db.query("update workflow_run set lease_until = now() - interval '1 s' where id = $1", [run]);
  });
  const recovered = [performance.now() - since];
  return epoch === 0 ? { took: [], recovered: [] } : { took: [{ runner: taker, epoch }], recovered };
}

/** Reaches for a run until it has it; 0 when the run is over. */
async function takeUntil({ rpc }: Runner, run: string, before: () => Promise<void>): Promise<number> {
  for (;;) {
    const status = await rpc.ask<string>("look", { run, journal: 1 });
    if (["completed", "partial", "failed"].includes(status)) return 0;
    await before();
    const epoch = status === "missing" ? 0 : await rpc.ask<number>("grab", { run, journal: 1 });
    if (epoch > 0) return epoch;
    await sleep(5);
  }
}

/** Timers are too coarse to hit what takes a millisecond. */
function spin(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}
