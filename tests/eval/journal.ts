// What a task costs beyond its own work: plan, scheduler and journal on the real database, with tools that do nothing;
// and how soon a long run goes on after its engine was killed.
import process from "node:process";
import { createJournal, type Journal } from "../../src/dag/journal/journal.ts";
import { plan } from "../../src/dag/plan.ts";
import { startRun } from "../../src/dag/run.ts";
import type { RunPorts } from "../../src/dag/run_port.ts";
import { createFold, record } from "../../src/dag/state.ts";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/pglite/open.ts";
import type { Durability } from "../../src/db/pglite/worker.ts";
import type { Effect } from "../../src/model/tool.ts";
import { durabilityOf } from "./durability.ts";
import { measureResume } from "./journal_resume.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";

const WARM_UPS = 30;
const CAPS = { all: 10_000, perServer: 10_000 };

export const evaluation: Evaluation = {
  options: {
    tasks: { type: "string", default: "100" },
    rounds: { type: "string", default: "20" },
    "resume-tasks": { type: "string", default: "1000" },
    "resume-rounds": { type: "string", default: "5" },
    /** `power` or `process`, as in the configuration. */
    durability: { type: "string", default: "power" },
  },
  async run({ tasks, rounds, "resume-tasks": resumeTasks, "resume-rounds": resumeRounds, ...given }) {
    const durability = durabilityOf(given.durability);
    const count = Number(tasks);
    const chain = Array.from({ length: count }, (_, i) => task(i, i > 0 ? [i - 1] : []));
    const fan = Array.from({ length: count }, (_, i) => task(i, []));
    const figures: Record<string, Figures> = {};
    await withJournal(durability, async (journal, commits) => {
      const ways = (["read", "effectful"] as const).flatMap((effect) => [
        { name: `${effect} chain`, tasks: chain, effect },
        { name: `${effect} fan`, tasks: fan, effect },
      ]);
      for (const way of ways) figures[way.name] = await measure(way, { journal, commits, rounds: Number(rounds) });
    });
    return {
      tasks: count,
      chain_cpu_ms: figures["read chain"]!.cpu,
      fan_cpu_ms: figures["read fan"]!.cpu,
      fan_commits: figures["read fan"]!.commits,
      effectful_chain_cpu_ms: figures["effectful chain"]!.cpu,
      effectful_fan_cpu_ms: figures["effectful fan"]!.cpu,
      effectful_fan_commits: figures["effectful fan"]!.commits,
      wall_ms: Object.fromEntries(Object.entries(figures).map(([name, { wall }]) => [name, wall])),
      ...await measureResume({ tasks: Number(resumeTasks), rounds: Number(resumeRounds), durability }),
    };
  },
};

function task(place: number, needs: readonly number[]) {
  return { id: `t${place}`, tool: "s:get", arguments: { n: place }, depends_on: needs.map((need) => `t${need}`) };
}

/** A journal on a database of its own, and how often rows were written to it. */
async function withJournal(
  durability: Durability,
  work: (journal: Journal, commits: () => number) => Promise<void>,
): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "ac-journal-" });
  const db = await openDatabase(`${dir}/data`, { durability });
  let commits = 0;
  const query: Database["query"] = (sql, parameters, options) => {
    if (sql.includes("into workflow_event")) commits++;
    return db.query(sql, parameters, options);
  };
  const journal = createJournal({ ...db, query }, { isAlone: true });
  try {
    await work(journal, () => commits);
  } finally {
    await journal.close();
    await db.close();
    await Deno.remove(dir, { recursive: true });
  }
}

interface Figures {
  /** Milliseconds per task. */
  readonly cpu: number;
  readonly wall: number;
  readonly commits: number;
}

interface Way {
  readonly tasks: readonly ReturnType<typeof task>[];
  readonly effect: Effect;
}

async function measure(
  way: Way,
  { journal, commits, rounds }: { journal: Journal; commits: () => number; rounds: number },
): Promise<Figures> {
  const measured: Figures[] = [];
  for (let round = 0; round < WARM_UPS + rounds; round++) {
    const [cpu, wall, written] = [process.cpuUsage(), performance.now(), commits()];
    await runOnce(journal, way);
    const took = performance.now() - wall;
    // All threads: the database works in one of its own.
    const { user, system } = process.cpuUsage(cpu);
    measured.push({ cpu: (user + system) / 1000, wall: took, commits: commits() - written });
  }
  const median = (of: (figures: Figures) => number) => quantiles(measured.slice(WARM_UPS).map(of)).p50;
  return {
    cpu: round3(median(({ cpu }) => cpu) / way.tasks.length),
    wall: round3(median(({ wall }) => wall) / way.tasks.length),
    commits: median(({ commits }) => commits),
  };
}

let runs = 0;

async function runOnce(journal: Journal, { tasks, effect }: Way): Promise<void> {
  const planned = plan(tasks, { maxTasks: tasks.length, check: () => [] });
  const head = { name: "", cwd: "/", fingerprint: "", servers: ["s"], variables: [], summary: {} };
  const writer = journal.begin({ id: `wf_${++runs}`, ...head });
  const fold = createFold();
  for (const event of record(fold, [{ kind: "planned", tasks: planned.tasks.map(({ task }) => task), options: {} }])) {
    void writer.append(event);
  }
  const run = startRun({ fold, plan: planned, writer, ports: ports(effect), caps: CAPS });
  for await (const _event of run.events);
  if (fold.state.status !== "completed") throw new Error(`the run is ${fold.state.status}: ${fold.state.error}`);
}

function ports(effect: Effect): RunPorts {
  const nothing = { ok: true, output: { kind: "value", value: 1 }, bytes: 1 } as const;
  return {
    async callTool(_task, _args, { beforeSend }) {
      await beforeSend(undefined);
      return nothing;
    },
    runCode: () => Promise.resolve(nothing),
    runAgent: () => Promise.resolve(nothing),
    toolFor: () => Promise.reject(new Error("there is no code here")),
    effectOf: () => effect,
    serverOf: () => "s",
    askHuman: () => Promise.resolve(undefined),
    approvable: () => Promise.reject(new Error("there is no code here")),
    load: () => Promise.resolve([]),
  };
}

function round3(value: number): number {
  return Math.round(value * 1000) / 1000;
}
