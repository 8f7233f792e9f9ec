// An agent that goes on whatever happens: it asks how its run stands, resolves doubts, and connects again.
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { sleep, type TestHome } from "../fixtures/gateway.ts";
import type { Random } from "../model/random.ts";
import { askHome } from "./ask_home.ts";
import type { DagCode } from "./code_tasks.ts";
import type { DagTask } from "./random_dag.ts";

interface Answer {
  readonly status: string;
  readonly workflow_id: string;
  readonly results: Record<string, unknown>;
  readonly tasks: readonly { readonly id: string; readonly status: string }[];
  readonly pending?: Pending;
}

interface Call {
  readonly arguments?: { readonly task: string };
}

interface Pending {
  readonly reason: string;
  readonly task?: string;
  readonly call?: Call;
  readonly also?: readonly { readonly call?: Call }[];
}

type Reply = { readonly answer: Answer } | { readonly problem: string };

/** What became of one run, as its client saw it. */
export interface Story {
  /** Undefined when it was forgotten, together with the engine that had just begun it. */
  id: string | undefined;
  /** The answer that said it is over. */
  answer?: Answer;
  readonly surfaced: Set<string>;
  /** Milliseconds from each kill to a run that runs, waits or is over again. */
  readonly recovered: number[];
  /** Resolutions that were answered. */
  decided: number;
  /** How often a run was not taken up by itself, and how often a decision came too late. */
  not_adopted: number;
  refused: number;
}

export interface Driven {
  readonly tasks: readonly (DagTask | DagCode)[];
  readonly options: Record<string, unknown>;
  readonly random: Random;
}

const ADOPT_MS = 5_000;
const OUTCOMES = ["done", "skip", "retry"];

export type Driver = ReturnType<typeof createDriver>;

export function createDriver(home: TestHome) {
  const over: Answer[] = [];
  let client: RawClient | undefined;
  let killedAt = Infinity;
  let isDropped = false;
  let token = 0;

  async function connect(): Promise<RawClient> {
    if (isDropped) throw new Error("the driver was dropped");
    return client ??= await connectClient(home);
  }

  async function ask(name: string, args: Record<string, unknown>): Promise<Reply> {
    const connected = await connect();
    connected.others.length = 0;
    const result = await connected.call(name, args, { progressToken: ++token });
    return result.isError ? { problem: textOf(result) } : { answer: JSON.parse(textOf(result)) };
  }

  async function reconnect(): Promise<void> {
    const old = client;
    client = undefined;
    await connect();
    await old?.[Symbol.asyncDispose]();
  }

  /** The id that progress told, else that of a run which nobody has been told of. */
  async function idOf(since: number): Promise<string | undefined> {
    for (const { params } of client?.others ?? []) {
      const told = /^(wf_\w+):/.exec(String((params as { message?: string } | undefined)?.message))?.[1];
      if (told) return told;
    }
    return (await askHome(home, "runs", { limit: 1 })).find(({ created }) => created >= since - 1)?.id;
  }

  async function run({ tasks, options, random }: Driven): Promise<Story> {
    const began = Date.now();
    const story: Story = {
      id: undefined,
      surfaced: new Set(),
      recovered: [],
      decided: 0,
      not_adopted: 0,
      refused: 0,
    };
    const isPatient = random.below(2) === 0;
    let waitingSince: number | undefined;
    const resume = (action: string, more: Record<string, unknown> = {}) =>
      ask("resume_workflow", { workflow_id: story.id, action, ...more });

    /** What to do next after what was heard last. */
    function next({ status, pending }: Answer): Promise<Reply> {
      if (status === "running") return sleep(10).then(() => resume("status"));
      if (pending?.reason === "in_doubt") {
        for (const { call } of [pending, ...pending.also ?? []]) story.surfaced.add(call?.arguments?.task ?? "");
        const outcome = OUTCOMES[random.below(OUTCOMES.length)]!;
        return resume("resolve", { task: pending.task, outcome, ...outcome === "done" && { value: "resolved" } });
      }
      if (pending?.reason !== "waiting") return resume("continue");
      // Its engine is gone. The next one takes it up by itself, unless somebody says so first.
      waitingSince ??= Date.now();
      const isTooLong = Date.now() - waitingSince > ADOPT_MS;
      if (isTooLong) story.not_adopted++;
      return isPatient && !isTooLong ? sleep(20).then(() => resume("status")) : resume("continue");
    }

    let isDeciding = false;
    let asked = Date.now();
    let reply = await ask("run_workflow", { tasks, options });
    for (;;) {
      if ("problem" in reply) {
        story.id ??= await idOf(began);
        if (story.id === undefined) return story;
        if (reply.problem.includes("There is no run")) return { ...story, id: undefined };
        if (!reply.problem.includes("engine")) story.refused++;
        if (random.below(2) === 0) await reconnect();
        isDeciding = false;
        asked = Date.now();
        reply = await resume("status");
        continue;
      }
      const { answer } = reply;
      story.id = answer.workflow_id;
      if (isDeciding) story.decided++;
      const isWaiting = answer.status === "paused" && answer.pending?.reason === "waiting";
      if (!isWaiting) {
        waitingSince = undefined;
        if (asked > killedAt) story.recovered.push(Date.now() - killedAt);
        if (asked > killedAt) killedAt = Infinity;
      }
      if (answer.status !== "running" && answer.status !== "paused") {
        over.push(answer);
        return { ...story, answer };
      }
      isDeciding = answer.pending?.reason === "in_doubt";
      asked = Date.now();
      reply = await next(answer);
    }
  }

  /** How many of the runs that were answered as over are not as they were: this one, and one of the earlier ones. */
  async function missing({ answer }: Story, random: Random): Promise<number> {
    const told = [answer, over[random.below(over.length)]].filter((one) => one !== undefined);
    const wrong: Answer[] = [];
    for (const one of told) if (!await isStillSo(one)) wrong.push(one);
    return wrong.length;
  }

  async function isStillSo(told: Answer): Promise<boolean> {
    for (;;) {
      const reply = await ask("resume_workflow", { workflow_id: told.workflow_id, action: "status" });
      if ("answer" in reply) return same(reply.answer) === same(told);
      if (!reply.problem.includes("engine")) return false;
      await sleep(20);
    }
  }

  return {
    run,
    missing,
    connect,
    noteKill: () => killedAt = Date.now(),
    /** Gives the connection up; what still goes on ends. */
    async drop() {
      isDropped = true;
      const old = client;
      client = undefined;
      await old?.[Symbol.asyncDispose]();
    },
  };
}

function same({ status, results, tasks }: Answer): string {
  return JSON.stringify([status, results, tasks.map(({ id, status }) => [id, status])]);
}
