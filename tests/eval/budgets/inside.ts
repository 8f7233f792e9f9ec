// The figures of parts that no client sees by themselves: graph, fold, journal, cage.
import { createJournal } from "../../../src/dag/journal/journal.ts";
import { plan } from "../../../src/dag/plan.ts";
import { createFold, record } from "../../../src/dag/state.ts";
import { openDatabase } from "../../../src/db/pglite/open.ts";
import { openExperience } from "../../../src/graphrag/experience.ts";
import { buildGraph } from "../../../src/graphrag/graph.ts";
import { createLearningStore } from "../../../src/graphrag/learning_store.ts";
import { availableLevel } from "../../../src/sandbox/level.ts";
import { CAGE_LIMITS } from "../../../src/sandbox/limits.ts";
import { createSandbox } from "../../../src/sandbox/sandbox.ts";
import { seeded } from "../../model/random.ts";
import { sleep } from "../../fixtures/gateway.ts";
import { type Figure, type Size, times, timing } from "./figure.ts";

export async function insideTheEngine(size: Size): Promise<Figure[]> {
  const dir = await Deno.makeTempDir({ prefix: "ac-budgets-" });
  const db = await openDatabase(`${dir}/data`, { durability: "power" });
  try {
    return [...await ofTheGraph(db, size), ...await ofTheJournal(db, size), ...await ofTheSandbox(size)];
  } finally {
    await db.close();
    await Deno.remove(dir, { recursive: true });
  }
}

type Database = Awaited<ReturnType<typeof openDatabase>>;

async function ofTheGraph(db: Database, { rounds, tools, edges }: Size): Promise<Figure[]> {
  const store = createLearningStore(db);
  const random = seeded(1);
  const tool = () => `server${random.below(20)}:tool${random.below(tools)}`;
  for (let i = 0; i < tools * edges; i++) {
    store.dependency("", { source: tool(), target: tool(), path: "id → id", seen: 1 + random.below(50), failed: 0 });
  }
  await store.flush();
  const read = async () => (await openExperience(store, "")).dependencies.all();
  const dependencies = await read();
  const graph = buildGraph(dependencies);
  const ends = dependencies.map(({ source }) => source);
  const ofGraph = `${graph.tools} tools, ${graph.edges} edges`;
  const named = (figure: Figure): Figure => ({ ...figure, note: `${figure.note}; ${ofGraph}` });
  return [
    named(timing("graph, from the database", 50, await times(rounds, async () => buildGraph(await read())))),
    named(timing("PageRank and communities", 100, await times(rounds, () => graph.drawing()))),
    named(timing(
      "shortest path",
      1,
      await times(rounds * 10, (i) => graph.path(ends[i % ends.length]!, ends[(i * 7 + 1) % ends.length]!)),
    )),
  ];
}

const TASKS = 100;

async function ofTheJournal(db: Database, { rounds }: Size): Promise<Figure[]> {
  const given = Array.from({ length: TASKS }, (_, i) => ({ id: `t${i}`, tool: "s:get", arguments: { n: i } }));
  const tasks = plan(given, { maxTasks: TASKS, check: () => [] }).tasks.map(({ task }) => task);
  const journal = createJournal(db, { isAlone: true });
  const head = { name: "", cwd: "/", fingerprint: "", servers: ["s"], variables: [], summary: {} };
  const updates: number[] = [];
  const commits: number[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      const writer = journal.begin({ id: `wf_${round}`, ...head });
      const fold = createFold();
      for (const event of record(fold, [{ kind: "planned", tasks, options: {} }])) await writer.append(event);
      for (const { id } of tasks) {
        const began = performance.now();
        const [event] = record(fold, [{ kind: "started", task: id, attempt: 1, effect: "effectful", arguments: {} }]);
        updates.push(performance.now() - began);
        // Every tenth: the others would only wait for the disk as well.
        if (Number(id.slice(1)) % 10 === 0) commits.push(await elapsed(writer.append(event!)));
        else void writer.append(event!).catch(() => {});
      }
      commits.push(await elapsed(writer.snapshot(fold.state)));
      writer.close();
    }
  } finally {
    await journal.close();
  }
  return [timing("state, one event folded in", 1, updates), timing("checkpoint, a row on the disk", 50, commits)];
}

async function elapsed(work: Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work;
  return performance.now() - began;
}

/** Long enough that the next cage is ready again. */
const REST_MS = 150;

async function ofTheSandbox({ rounds }: Size): Promise<Figure[]> {
  const { level, groups, setpriv } = await availableLevel();
  const sandbox = createSandbox({ level, groups, setpriv, watch() {}, forget() {} });
  const nothing = { call: () => Promise.reject(new Error("no tool")), result: () => Promise.reject(new Error("none")) };
  const run = async (memoryMb: number) => {
    const request = { code: "return 1", context: {}, deps: {}, servers: {} };
    const options = { signal: new AbortController().signal, minimumLevel: 0, limits: { memoryMb } };
    const began = performance.now();
    const { result } = await sandbox.run(request, nothing, options);
    const ms = performance.now() - began;
    if (!result.ok) throw new Error(JSON.stringify(result.error));
    return ms;
  };
  const measure = async (memoryMb: number) => {
    const all: number[] = [];
    for (let round = 0; round < rounds + 3; round++) {
      await sleep(REST_MS);
      all.push(await run(memoryMb));
    }
    return all.slice(3);
  };
  try {
    // No cage of the usual limits fits this run: it is started for it.
    const cold = timing("sandbox start, with the run", 100, await measure(CAGE_LIMITS.memoryMb - 1));
    const warm = timing("sandbox overhead", 50, await measure(CAGE_LIMITS.memoryMb));
    return [cold, warm].map((figure) => ({ ...figure, note: `${figure.note}; level L${level}` }));
  } finally {
    await sandbox.close();
  }
}
