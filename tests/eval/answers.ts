// deno-lint-ignore-file no-console -- it tells on stderr how far it is
// Kills the engine at drawn moments of run_workflow under an agent that does what it is told, and counts what happened.
import { within } from "../../src/model/time.ts";
import { connectClient, type RawClient } from "../fixtures/client.ts";
import { createTestHome, endProcess, isAlive, sleep, type TestHome, testServer } from "../fixtures/gateway.ts";
import { type Random, seeded } from "../model/random.ts";
import { createAgent, type Story } from "./answers_agent.ts";
import { createOracle, type Oracle } from "./crash_oracle.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";
import { kindOf, randomDag } from "./random_dag.ts";
import { endHome } from "./startup.ts";

const TRIAL_MS = 120_000;

export const evaluation: Evaluation = {
  options: { trials: { type: "string", default: "100" }, seed: { type: "string", default: "1" } },
  async run({ trials, seed }) {
    return await answerTrials({ trials: Number(trials), seed: Number(seed) });
  },
};

export interface AnswerTrials {
  readonly trials: number;
  readonly seed: number;
  /** No engine is killed. */
  readonly isHarmless?: boolean;
}

export async function answerTrials({ trials, seed, isHarmless = false }: AnswerTrials) {
  const log = await Deno.makeTempFile({ prefix: "ac-oracle-" });
  const oracle = createOracle(log);
  const home = await createTestHome({
    servers: { worker: testServer("worker", `--log=${log}`) },
    limits: { concurrency: 1_000, server_concurrency: 1_000, runs: 1_000_000 },
  });
  const total = { kills: 0, effects: 0, effects_twice: 0, effects_lost: 0, called_again: 0, unfinished: 0 };
  /** Requests that the engine died under, and those of them that got the run's own answer. */
  let [hit, real] = [0, 0];
  const waits: number[] = [];
  const errors: string[] = [];
  let client = await connectClient(home);
  try {
    for (let trial = 0; trial < trials; trial++) {
      const random = seeded(seed * 1_000_003 + trial);
      try {
        const found = await within(
          tryOnce({ trial, random, home, oracle, client, isHarmless }),
          TRIAL_MS,
          "the trial hangs",
        );
        for (const [key, value] of Object.entries(found.counts)) total[key as keyof typeof total] += value;
        if (found.isHit) {
          hit++;
          if (found.story.isReal) real++;
          waits.push(found.waited);
        }
        const { effects_twice, effects_lost, unfinished } = found.counts;
        if (effects_twice + effects_lost + unfinished > 0 || !found.story.isReal) {
          console.error(`trial ${trial}: ${JSON.stringify([found.counts, found.story.heard])}`);
        }
      } catch (error) {
        errors.push(`trial ${trial}: ${(error as Error).message}`);
        console.error(errors.at(-1));
        await client[Symbol.asyncDispose]();
        await endProcess((await home.enginePid())!, "SIGKILL");
        client = await connectClient(home);
      }
      if ((trial + 1) % 10 === 0) console.error(`${trial + 1} of ${trials}`);
    }
  } finally {
    await client[Symbol.asyncDispose]();
    await endHome(home);
    oracle.close();
    await Deno.remove(log);
  }
  const { kills, effects, effects_twice, effects_lost, ...more } = total;
  return {
    trials,
    effects_twice,
    effects_lost,
    real_answers: hit === 0 ? 0 : real / hit,
    requests_hit: hit,
    kills,
    effects,
    ...more,
    answer_p50_ms: Math.round(quantiles(waits).p50),
    answer_p95_ms: Math.round(quantiles(waits).p95),
    errors,
  };
}

interface Trial {
  readonly trial: number;
  readonly random: Random;
  readonly home: TestHome;
  readonly oracle: Oracle;
  readonly client: RawClient;
  readonly isHarmless: boolean;
}

async function tryOnce({ trial, random, home, oracle, client, isHarmless }: Trial) {
  const prefix = `${trial}.`;
  const tasks = randomDag(random, { tasks: [4, 10], ms: [5, 60], kinds: ["read", "effectful"], prefix });
  const acting = tasks.filter((task) => kindOf(task) === "effectful").map((task) => task.arguments.task);
  const times = (name: string) => oracle.begins(prefix).filter(({ task }) => task === name).length;
  // Every trial has an engine that is up, and every second one a server that runs.
  await client.request("tools/list");
  if (random.below(2) === 0) {
    await client.use("worker:get_item", { task: `${trial}-warm`, ms: 0 });
  }
  const agent = createAgent(client, { hasHappened: (name) => times(name) > 0 });
  const kills: number[] = [];
  let isOver = false;
  const killing = isHarmless
    ? undefined
    : kill({ home, oracle, random, calls: tasks.length, kills, isOver: () => isOver });
  const story: Story = await agent.run(tasks).finally(() => isOver = true);
  await killing;
  const [first] = kills;
  const isHit = first !== undefined && first < story.answeredAt;
  const counts = {
    kills: kills.length,
    effects: acting.length,
    effects_twice: acting.filter((name) => times(name) > 1).length,
    effects_lost: acting.filter((name) => times(name) === 0).length,
    called_again: story.calledAgain,
    unfinished: story.status === "completed" ? 0 : 1,
  };
  return { counts, story, isHit, waited: isHit ? story.answeredAt - first : 0 };
}

interface Killing {
  readonly home: TestHome;
  readonly oracle: Oracle;
  readonly random: Random;
  readonly calls: number;
  readonly kills: number[];
  isOver(): boolean;
}

/** The first engine goes anywhere from before the plan to the last call; one in three times the next goes, too. */
async function kill({ home, oracle, random, calls, kills, isOver }: Killing): Promise<void> {
  const engine = (await home.enginePid())!;
  const before = oracle.lines();
  const lines = random.below(2 * calls);
  const ms = random.below(lines === 0 ? 300 : 100) / 10;
  const next = random.below(3) === 0 ? random.below(1_500) : undefined;
  while (!isOver() && oracle.lines() < before + lines) await sleep(1);
  for (const end = performance.now() + ms; performance.now() < end;);
  if (isOver()) return;
  await end(engine, kills);
  if (next === undefined) return;
  for (;;) {
    const pid = await home.enginePid();
    if (isOver()) return;
    if (pid !== undefined && pid !== engine && isAlive(pid)) {
      await sleep(next);
      if (!isOver()) await end(pid, kills);
      return;
    }
    await sleep(5);
  }
}

async function end(pid: number, kills: number[]): Promise<void> {
  Deno.kill(pid, "SIGKILL");
  kills.push(performance.now());
  while (isAlive(pid)) await sleep(1);
}
