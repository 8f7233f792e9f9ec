// The figures of a client: search, workflows, decisions, suggestions and code, through `serve` and the engine.
import { ownTokens } from "../../../src/cli/init/command.ts";
import { locateHome } from "../../../src/config/home.ts";
import { type ControlLink, openControl } from "../../../src/control/link.ts";
import { connectClient, type RawClient, textOf } from "../../fixtures/client.ts";
import { AS_INSTALLED, createTestHome, PROGRAM, sleep, type TestHome, testServer } from "../../fixtures/gateway.ts";
import { endHome } from "../startup.ts";
import { type Figure, type Size, timed, times, timing } from "./figure.ts";
import { madeUpTools, requestOf } from "./tools.ts";

const WINDOW = 200_000;

export async function atTheClient(size: Size): Promise<Figure[]> {
  const home = await createTestHome((dir) => ({
    servers: {
      many: testServer("listed", `${dir}/tools.json`),
      shop: testServer("shop", "--delay=5"),
      worker: testServer("worker"),
    },
  }), AS_INSTALLED);
  await Deno.writeTextFile(`${home.dir}/tools.json`, JSON.stringify(madeUpTools(size.tools)));
  try {
    const seconds = await timed(() => must(home, "index")) / 1_000;
    const indexed: Figure = {
      name: `${size.tools} tools indexed`,
      measured: Math.round(seconds * 100) / 100,
      bound: 60,
      unit: "s",
      note: "with the start of the engine, the servers and the model",
    };
    await using client = await connectClient(home);
    const share = Math.round(ownTokens() / WINDOW * 100_000) / 1_000;
    return [
      indexed,
      { name: "context", measured: share, bound: 5, unit: "%", note: `${ownTokens()} tokens of ${WINDOW}` },
      ...await ofSearch(client, size),
      ...await ofWorkflows(client, size),
      ...await ofDecisions(home, client, size),
      ...await ofSuggestions(client, size),
      ...await ofCode(client, size),
    ];
  } finally {
    await endHome(home);
  }
}

async function must(home: TestHome, ...args: string[]): Promise<void> {
  const { code, stderr } = await home.run(args);
  if (code !== 0) throw new Error(stderr);
}

interface Answer {
  readonly status?: string;
  readonly mode?: string;
  readonly workflow_id: string;
  readonly workflow?: { readonly tasks: readonly unknown[] };
}

async function ask(client: RawClient, tool: string, input: Record<string, unknown>): Promise<Answer> {
  const result = await client.call(tool, input);
  if (result.isError) throw new Error(textOf(result));
  return JSON.parse(textOf(result));
}

/** The request and its answer, and how long that took. */
async function answered(client: RawClient, tool: string, input: Record<string, unknown>) {
  const began = performance.now();
  const answer = await ask(client, tool, input);
  return { ...answer, ms: performance.now() - began };
}

/** Every request is another one: none has been encoded before. */
async function ofSearch(client: RawClient, { rounds, tools }: Size): Promise<Figure[]> {
  const search = async (round: number) => {
    const result = await client.call("search_tools", { query: requestOf(round) });
    if (!textOf(result).includes("many:")) throw new Error(textOf(result));
  };
  const all = await times(rounds, search);
  const note = (figure: Figure): Figure => ({ ...figure, note: `${figure.note}; ${tools} tools, at the client` });
  return [note(timing("vector search", 100, all)), note(timing("tool discovery", 200, all))];
}

const worker = (id: string, ms: number, depends_on: readonly string[] = []) => (
  { id, tool: "worker:get_item", arguments: { task: id, ms }, depends_on }
);
const CALL_MS = 100;

async function ofWorkflows(client: RawClient, { rounds }: Size): Promise<Figure[]> {
  const run = async (tasks: readonly unknown[]) => {
    const { status } = await ask(client, "run_workflow", { tasks });
    if (status !== "completed") throw new Error(`a run is ${status}`);
  };
  const [a, b, c, d, e] = [["a"], ["b", "a"], ["c", "a"], ["d", "b", "c"], ["e", "d"]].map(([id, ...needs]) =>
    worker(id!, CALL_MS, needs)
  );
  const code = {
    id: "code",
    type: "code_execution",
    code: "return deps.b.output.ms + deps.c.output.ms",
    depends_on: ["b", "c"],
  };
  const count = Math.max(3, Math.ceil(rounds / 3));
  const ids = ["a", "b", "c", "d", "e"];
  const together = await times(count, () => run(ids.map((id) => worker(id, CALL_MS))));
  const oneByOne = await times(count, async () => {
    for (const id of ids) await client.use("worker:get_item", { task: id, ms: CALL_MS });
  });
  const [quick, slow] = [timing("", 0, together), timing("", 0, oneByOne)].map(({ measured }) => measured);
  const of = (figure: Figure): Figure => ({ ...figure, note: `${figure.note}; calls of ${CALL_MS} ms` });
  return [
    of(timing("workflow of five tools", 3_000, await times(count, () => run([a, b, c, d, e])))),
    of(
      timing(
        "four tools and code",
        3_000,
        await times(count, () => run([a, b, c, code, { ...d, depends_on: ["code"] }])),
      ),
    ),
    {
      name: "five calls, in parallel",
      measured: Math.round(slow! / quick! * 100) / 100,
      bound: 4,
      unit: "times",
      least: true,
      note: `${quick} ms beside ${slow} ms one by one, p95; calls of ${CALL_MS} ms`,
    },
  ];
}

/** A run that pauses after each layer, watched from outside as the dashboard does. */
async function ofDecisions(home: TestHome, client: RawClient, { rounds }: Size): Promise<Figure[]> {
  const link = await openControl({ home: locateHome(home.env), cwd: home.dir, env: home.env, program: PROGRAM });
  const [commands, events, loops]: [number[], number[], number[]] = [[], [], []];
  try {
    let sent = 0;
    const watching = await watch(link, ({ at, kind }) => {
      const now = performance.timeOrigin + performance.now();
      events.push(Math.max(0, now - at));
      if (kind === "command") commands.push(Math.max(0, at - sent));
    });
    const tasks = Array.from({ length: rounds + 1 }, (_, i) => worker(`t${i}`, 0, i === 0 ? [] : [`t${i - 1}`]));
    let { status, workflow_id } = await ask(client, "run_workflow", { tasks, options: { pause: "layer" } });
    while (status === "paused") {
      sent = performance.timeOrigin + performance.now();
      const answer = await answered(client, "resume_workflow", { workflow_id, action: "continue" });
      status = answer.status;
      loops.push(answer.ms);
    }
    await sleep(100);
    await watching.stop();
  } finally {
    link.close();
  }
  if (commands.length !== rounds) throw new Error(`${commands.length} decisions of ${rounds} were seen`);
  return [
    timing("event, until a watcher has it", 5, events),
    timing("command, until it is taken", 10, commands),
    timing("loop, from decision to next pause", 300, loops),
  ];
}

async function watch(link: ControlLink, hear: (event: { at: number; kind: string }) => void) {
  const begun = Promise.withResolvers<void>();
  const over = new AbortController();
  const watching = link.ask({
    method: "watch",
    signal: over.signal,
    onProgress: (told) => {
      if ("caught_up" in told) begun.resolve();
      if ("event" in told && told.event !== undefined) hear(told.event);
    },
  }).catch(() => {});
  await begun.promise;
  return {
    async stop() {
      over.abort();
      await watching;
    },
  };
}

const intent = (name: string) =>
  `Tell the details of the order "W-${name}-1", then change the status of the order W-${name}-1 with status paid`;
/** So often a plan has to be taken up before it is run unasked, and a few times more. */
const MOST_LESSONS = 40;

async function ofSuggestions(client: RawClient, { rounds }: Size): Promise<Figure[]> {
  const plan = (name: string) => answered(client, "run_workflow", { intent: intent(name) });
  const [suggested, speculated]: [number[], number[]] = [[], []];
  for (let lesson = 0; lesson < MOST_LESSONS && speculated.length < Math.min(10, rounds); lesson++) {
    const { mode, ms, workflow, status, workflow_id } = await plan(`c${lesson}`);
    (mode === "speculative_execution" ? speculated : suggested).push(ms);
    if (status === "paused") await ask(client, "resume_workflow", { workflow_id, action: "continue" });
    else await ask(client, "run_workflow", { tasks: workflow!.tasks });
    await sleep(60);
  }
  const tasks = [{ id: "orders", tool: "shop:list_orders", arguments: { customer: "fay" } }, {
    id: "product",
    tool: "shop:get_product",
    arguments: { product_id: "P-1" },
    depends_on: ["orders"],
  }];
  const { workflow_id } = await ask(client, "run_workflow", { tasks, options: { pause_after: ["orders"] } });
  const replan = { workflow_id, action: "replan", requirement: "tell the details of the order" };
  const replanned = await times(rounds, () => ask(client, "resume_workflow", replan));
  await ask(client, "resume_workflow", { workflow_id, action: "abort" });
  return [
    timing("suggestion", 200, suggested),
    timing("speculative answer", 300, speculated),
    timing("replan", 200, replanned),
  ];
}

async function ofCode(client: RawClient, { rounds }: Size): Promise<Figure[]> {
  const all: number[] = [];
  for (let round = 0; round < rounds + 3; round++) {
    await sleep(150);
    all.push((await answered(client, "execute_code", { code: `return ${round} + 1` })).ms);
  }
  return [timing("simple code", 500, all.slice(3))];
}
