// Clients that run workflows without a break, and a record of what they were told.
import { connectClient, type Message, type RawClient, textOf } from "../../fixtures/client.ts";
import { sleep } from "../../fixtures/gateway.ts";
import type { Random } from "../../model/random.ts";
import { type DagTask, type Kind, kindOf, randomDag } from "../random_dag.ts";
import type { FaultHome } from "./home.ts";
import { PATIENCE_MS } from "./kind.ts";

export type Reply =
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "refused"; readonly text: string }
  /** Nothing came within the time that was given. */
  | { readonly kind: "late"; readonly text: string };

/** A run as its client was told about it last. */
export interface Told {
  readonly id: string;
  readonly status: string;
  readonly results: string;
  readonly tasks: readonly string[];
  readonly at: number;
  /** The word to go on was sent, and no answer came yet: the run may be anywhere after this. */
  readonly isGoingOn?: boolean;
}

export interface Ledger {
  readonly told: Map<string, Told>;
  /** The kind of every task that was ever sent, by its id. */
  readonly tasks: Map<string, Kind>;
  /** One line for each call that had no answer in time. */
  readonly late: string[];
  readonly refused: string[];
}

export function createLedger(from?: Ledger): Ledger {
  return { told: new Map(from?.told), tasks: new Map(from?.tasks), late: [], refused: [] };
}

export function isOver(status: string): boolean {
  return status !== "running" && status !== "paused";
}

/** Calls one of the five tools; never throws. */
export async function ask(client: RawClient, tool: string, args: Message, ms = PATIENCE_MS): Promise<Reply> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<Reply>((resolve) => {
    timer = setTimeout(() => resolve({ kind: "late", text: `${tool} had no answer within ${ms / 1000} s` }), ms);
  });
  const answered = client.call(tool, args).then(
    (result): Reply => ({ kind: result.isError ? "refused" : "answer", text: textOf(result) }),
    (error): Reply => ({ kind: "refused", text: String((error as Error).message) }),
  );
  try {
    return await Promise.race([answered, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function connect(home: FaultHome, env: Record<string, string> = {}): Promise<RawClient> {
  return connectClient(home, { cwd: home.work, env });
}

/** The same; a handshake that is refused is an error with the words of the refusal. */
export async function connectWell(home: FaultHome): Promise<RawClient> {
  const client = await connectClient(home, { cwd: home.work, handshake: false });
  const clientInfo = { name: "test", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const { error } = await client.request("initialize", params);
  if (error === undefined) {
    await client.send({ method: "notifications/initialized" });
    return client;
  }
  await client[Symbol.asyncDispose]();
  throw new Error((error as { message: string }).message);
}

/** Too large for the journal: such an answer goes into a file of its own. */
const LARGE = 60_000;

/** A workflow of a few tasks whose ids are the names under which they are executed. */
export function drawWorkflow(random: Random, prefix: string): { tasks: DagTask[]; options: Message } {
  const dag = randomDag(random, { tasks: [1, 4], ms: [0, 30], kinds: ["effectful", "read", "idempotent"] });
  const isLarge = random.below(5) === 0;
  const tasks = dag.map((task, i) => ({
    ...task,
    id: prefix + task.id,
    arguments: {
      ...task.arguments,
      task: prefix + task.id,
      ...isLarge && i === dag.length - 1 && { characters: LARGE },
    },
    depends_on: task.depends_on.map((id) => prefix + id),
  }));
  const isPaused = tasks.length > 1 && random.below(6) === 0;
  return { tasks, options: isPaused ? { pause_after: [tasks[0]!.id] } : {} };
}

/** Notes what an answer tells of a run. */
export function note(ledger: Ledger, reply: Reply): Told | undefined {
  if (reply.kind === "late") ledger.late.push(reply.text);
  if (reply.kind === "refused") ledger.refused.push(reply.text);
  if (reply.kind !== "answer" || !reply.text.startsWith("{")) return undefined;
  const { workflow_id: id, status, results, tasks = [] } = JSON.parse(reply.text);
  const told = { id, status, results: JSON.stringify(results), tasks: idsOf(tasks), at: Date.now() };
  ledger.told.set(id, told);
  return told;
}

const idsOf = (tasks: readonly { id: string }[]) => tasks.map(({ id }) => id);

export interface Busy {
  readonly ledger: Ledger;
  readonly random: Random;
  /** Stands before the ids of this client's tasks. */
  readonly prefix: string;
  /** An answer that comes after this moment does not count. */
  isOver(): boolean;
}

/** Runs one workflow after the other until it is told to end. */
export async function keepBusy(client: RawClient, { ledger, random, prefix, isOver }: Busy): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    const { tasks, options } = drawWorkflow(random, `${prefix}${n}_`);
    for (const task of tasks) ledger.tasks.set(task.id, kindOf(task));
    const reply = await ask(client, "run_workflow", { tasks, options });
    if (isOver()) return;
    const told = note(ledger, reply);
    if (told?.status === "paused" && options.pause_after && random.below(3) > 0) {
      ledger.told.set(told.id, { ...told, isGoingOn: true });
      const next = await ask(client, "resume_workflow", { workflow_id: told.id, action: "continue" });
      if (isOver()) return;
      note(ledger, next);
    }
    if (!told) await sleep(30);
  }
}

/** Waits until clients have been told of one more run than now, so that a fault meets work that goes on. */
export async function untilWorking({ told }: Ledger, ms = 20_000): Promise<void> {
  const before = told.size;
  for (const deadline = performance.now() + ms; told.size === before && performance.now() < deadline;) await sleep(10);
}
