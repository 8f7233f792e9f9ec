// deno-lint-ignore-file no-console -- it tells on stderr how far it is
import { within } from "../../src/model/time.ts";
import { createTestHome, endProcess, isAlive, sleep, type TestHome, testServer } from "../fixtures/gateway.ts";
import { type Random, seeded } from "../model/random.ts";
import { askHome } from "./ask_home.ts";
import { withCode } from "./code_tasks.ts";
import { createDriver, type Driver } from "./crash_driver.ts";
import { createOracle, judge, type Oracle, type Verdict } from "./crash_oracle.ts";
import { quantiles } from "./quantiles.ts";
import { type DagTask, randomDag } from "./random_dag.ts";
import { endHome } from "./startup.ts";

const TRIAL_MS = 60_000;

/** Kills the engine at drawn moments of drawn runs, in one home, and resolves every doubt that comes of it. */
export async function killTrials({ trials, seed }: { trials: number; seed: number }) {
  const log = await Deno.makeTempFile({ prefix: "ac-oracle-" });
  const oracle = createOracle(log);
  const home = await createTestHome({
    servers: { worker: testServer("worker", `--log=${log}`) },
    limits: { concurrency: 1_000, server_concurrency: 1_000, runs: 1_000_000 },
  });
  const total: Verdict & Record<string, number> = {
    silent_reruns: 0,
    finished_reruns: 0,
    lost: 0,
    doubts: 0,
    in_doubt_surfaced: 0,
    doubts_not_begun: 0,
    kills: 0,
    forgotten: 0,
    not_adopted: 0,
    refused: 0,
  };
  const errors: string[] = [];
  const recovered: number[] = [];
  /** How often a kill came after which row. */
  const points: Record<string, number> = {};
  let driver = createDriver(home);
  try {
    for (let trial = 0; trial < trials; trial++) {
      const random = seeded(seed * 1_000_003 + trial);
      try {
        const found = await within(tryOnce({ trial, random, home, oracle, driver }), TRIAL_MS, "the trial hangs");
        for (const [key, value] of Object.entries(found.counts)) total[key]! += value;
        recovered.push(...found.recovered);
        for (const point of found.points) points[point] = (points[point] ?? 0) + 1;
        const { silent_reruns, finished_reruns, lost, doubts, in_doubt_surfaced } = found.counts as Verdict;
        if (silent_reruns + finished_reruns + lost > 0 || doubts !== in_doubt_surfaced) {
          console.error(`trial ${trial} (${found.id}): ${JSON.stringify(found.counts)}`);
        }
      } catch (error) {
        errors.push(`trial ${trial}: ${(error as Error).message}`);
        console.error(errors.at(-1));
        await driver.drop();
        await endProcess((await home.enginePid())!, "SIGKILL");
        driver = createDriver(home);
      }
      if ((trial + 1) % 10 === 0) console.error(`${trial + 1} of ${trials}`);
    }
  } finally {
    await driver.drop();
    await endHome(home);
    oracle.close();
    await Deno.remove(log);
  }
  const { silent_reruns, finished_reruns, lost, doubts, in_doubt_surfaced, ...more } = total;
  return {
    trials,
    silent_reruns,
    finished_reruns,
    lost,
    doubts,
    in_doubt_surfaced,
    double_executions: silent_reruns,
    recover_p50_ms: Math.round(quantiles(recovered).p50),
    recover_p95_ms: Math.round(quantiles(recovered).p95),
    ...more,
    points,
    errors,
  };
}

interface Trial {
  readonly trial: number;
  readonly random: Random;
  readonly home: TestHome;
  readonly oracle: Oracle;
  readonly driver: Driver;
}

async function tryOnce({ trial, random, home, oracle, driver }: Trial) {
  const prefix = `${trial}.`;
  const plain = randomDag(random, { tasks: [5, 15], ms: [1, 30], kinds: ["read", "idempotent", "effectful"], prefix });
  const { tasks, units } = withCode(random, plain);
  await driver.connect();
  // Every trial has an engine of its own; one that has run something before is much quicker than one that has not.
  if (random.below(2) === 0) await driver.run({ tasks: warmUp(random, trial), random, options: {} });
  const kills: number[] = [];
  let isOver = false;
  const killing = kill({ home, oracle, plan: killPlan(random, units.length), kills, isOver: () => isOver, driver });
  killing.catch(() => {});
  const story = await driver.run({ tasks, random, options: optionsFor(random, tasks.map(({ id }) => id)) }).finally(
    () => isOver = true,
  );
  await killing;
  const { id } = story;
  if (id === undefined) {
    const acting = new Set(units.filter(({ kind }) => kind === "effectful").map(({ name }) => name));
    const acted = oracle.begins(prefix).filter(({ task }) => acting.has(task));
    const counts = { kills: kills.length, forgotten: 1, lost: acted.length };
    return { id, recovered: [], points: kills.map(() => "before planned"), counts };
  }
  const lost = await driver.missing(story, random);
  const { events } = await askHome(home, "run_show", { id });
  const counts = judge(oracle, { units, prefix, events, kills, surfaced: story.surfaced, decided: story.decided });
  const { recovered, not_adopted, refused } = story;
  const points = kills.map((kill) => `after ${events.findLast(({ at }) => at <= kill)?.kind ?? "nothing"}`);
  return {
    id,
    recovered,
    points,
    counts: { ...counts, lost: counts.lost + lost, kills: kills.length, not_adopted, refused },
  };
}

function warmUp(random: Random, trial: number): DagTask[] {
  return randomDag(random, { tasks: [4, 4], ms: [0, 1], kinds: ["read", "effectful"], prefix: `${trial}-warm.` });
}

/** Some runs stop now and then, so that kills fall between a pause and the word to go on, too. */
function optionsFor(random: Random, ids: readonly string[]): Record<string, unknown> {
  const draw = random.below(10);
  if (draw === 0) return { pause: "layer" };
  if (draw === 1) return { pause: "effects" };
  return draw === 2 ? { pause_after: [ids[random.below(ids.length)]!] } : {};
}

interface PlannedKill {
  /** After so many lines of the oracle since the engine before went. */
  readonly lines: number;
  /** And so many milliseconds. */
  readonly ms: number;
}

/**
 * The first engine goes anywhere from before the plan to after the answer; some runs lose more, each while it is taken up
 * again or soon after.
 */
function killPlan(random: Random, calls: number): PlannedKill[] {
  const first = random.below(2 * calls + 3) - 1;
  const plan = [{ lines: first, ms: random.below(first <= 0 ? 200 : 51) / 10 }];
  while (random.below(5) < 2) {
    const lines = random.below(2) === 0 ? 0 : random.below(calls);
    plan.push({ lines, ms: random.below(lines === 0 ? 15_000 : 51) / 10 });
  }
  return plan;
}

interface Killing {
  readonly home: TestHome;
  readonly oracle: Oracle;
  readonly plan: readonly PlannedKill[];
  readonly kills: number[];
  readonly driver: Driver;
  isOver(): boolean;
}

async function kill({ home, oracle, plan, kills, driver, isOver }: Killing): Promise<void> {
  let engine: number | undefined;
  for (const { lines, ms } of plan) {
    engine = await nextEngine(home, { before: engine, isOver });
    const before = oracle.lines();
    while (!isOver() && oracle.lines() < before + lines) await sleep(1);
    if (ms > 10) await sleep(ms);
    else spin(ms);
    if (engine === undefined || (isOver() && kills.length > 0)) return;
    driver.noteKill();
    Deno.kill(engine, "SIGKILL");
    kills.push(Date.now());
    while (isAlive(engine)) await sleep(1);
  }
}

async function nextEngine(
  home: TestHome,
  { before, isOver }: { before: number | undefined; isOver(): boolean },
): Promise<number | undefined> {
  for (;;) {
    const pid = await home.enginePid();
    if (pid !== undefined && pid !== before && isAlive(pid)) return pid;
    if (isOver()) return undefined;
    await sleep(2);
  }
}

/** Timers are too coarse to hit what takes a millisecond. */
function spin(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}
