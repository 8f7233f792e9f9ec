// Compares what clients were told and what servers really did with what the product says after a fault.
import type { RawClient } from "../../fixtures/client.ts";
import { sleep } from "../../fixtures/gateway.ts";
import { createOracle } from "../crash_oracle.ts";
import { type FaultHome, wordsOf } from "./home.ts";
import { few, line } from "./kind.ts";
import { ask, connect, isOver, type Ledger, type Reply, type Told } from "./ledger.ts";

const OPEN_MS = 20_000;
const SETTLE_MS = 20_000;

export interface ListedRun {
  readonly id: string;
  readonly status: string;
  readonly pending: { readonly reason?: string } | null;
}

interface RunNow {
  readonly status: string;
  readonly results: string;
  readonly tasks: ReadonlyMap<string, string>;
}

export interface JudgeOptions {
  /** A run that was told as broken off may wait for the word to go on; without it, runs must go on by themselves. */
  readonly mayRest?: boolean;
}

/** Every violation that can be seen from outside: lost runs, repeated effects, hidden doubts, a database that is closed. */
export async function judge(
  home: FaultHome,
  ledger: Ledger,
  { mayRest = false }: JudgeOptions = {},
): Promise<string[]> {
  let client: RawClient;
  try {
    client = await connect(home);
  } catch (error) {
    return [`no handshake after the fault: ${line((error as Error).message)}`];
  }
  try {
    const closed = await whyClosed(home, client);
    if (closed) return [closed, ...repeated(home, ledger)];
    if (mayRest) await goOn(home, client);
    const listed = await settled(home);
    if (typeof listed === "string") return [listed, ...repeated(home, ledger)];
    return [
      ...await lost(client, ledger, listed),
      ...repeated(home, ledger),
      ...await hidden(client, { home, ledger, listed }),
    ];
  } finally {
    await client[Symbol.asyncDispose]();
  }
}

let probes = 0;

/** Runs one small workflow; what is not `completed` is the reason why the database counts as closed. */
export async function tryWorkflow(client: RawClient, ms?: number): Promise<Reply & { readonly isDone: boolean }> {
  const id = `probe${++probes}`;
  const tasks = [{ id, tool: "worker:get_item", arguments: { task: id, ms: 0 } }];
  const reply = await ask(client, "run_workflow", { tasks }, ms);
  return { ...reply, isDone: reply.kind === "answer" && reply.text.includes('"status":"completed"') };
}

async function whyClosed(home: FaultHome, client: RawClient): Promise<string | undefined> {
  const deadline = performance.now() + OPEN_MS;
  for (;;) {
    const { isDone, text } = await tryWorkflow(client);
    if (isDone) break;
    if (performance.now() > deadline) return `the database does not open: ${line(text)}`;
    await sleep(500);
  }
  const status = await home.command(["status"]);
  return status.code === 0
    ? undefined
    : `status is not well after the fault: ${line(wordsOf(status).slice(-300), 300)}`;
}

/** The list of runs, or the reason why there is none. */
export async function listRuns(home: FaultHome): Promise<ListedRun[] | string> {
  const outcome = await home.command(["runs", "--limit", "100000", "--json"]);
  if (outcome.code !== 0) return `runs are not listed: ${line(wordsOf(outcome))}`;
  try {
    return JSON.parse(outcome.stdout.trim().split("\n").at(-1)!);
  } catch {
    return `runs are not listed: ${line(wordsOf(outcome))}`;
  }
}

/** Says the word to all runs that wait for it. */
async function goOn(home: FaultHome, client: RawClient): Promise<void> {
  const listed = await listRuns(home);
  if (typeof listed === "string") return;
  for (const { id } of listed.filter(({ pending }) => pending?.reason === "waiting")) {
    await ask(client, "resume_workflow", { workflow_id: id, action: "continue" });
  }
}

/** Waits until the runs that the fault interrupted have come to their end or to a pause. */
async function settled(home: FaultHome): Promise<ListedRun[] | string> {
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    const listed = await listRuns(home);
    if (typeof listed === "string") return listed;
    const open = listed.filter(({ status, pending }) => status === "running" || pending?.reason === "waiting");
    if (open.length === 0) return listed;
    if (performance.now() > deadline) {
      const shown = open.map(({ id, status, pending }) => `${id} (${pending?.reason ?? status})`);
      return `${open.length} runs did not go on within ${SETTLE_MS / 1000} s: ${few(shown)}`;
    }
    await sleep(200);
  }
}

/** Runs that a client was told about and that are gone or something else now. */
export async function lost(client: RawClient, { told }: Ledger, listed: readonly ListedRun[]): Promise<string[]> {
  const known = new Set(listed.map(({ id }) => id));
  const gone = [...told.keys()].filter((id) => !known.has(id));
  const other: string[] = [];
  for (const one of told.values()) {
    if (!known.has(one.id)) continue;
    const now = await look(client, one.id);
    const unread = isOver(one.status) ? await unreadable(client, one) : undefined;
    if (unread) other.push(`${one.id}: ${unread}`);
    if (typeof now === "string") other.push(`${one.id}: ${now}`);
    else if (!isStill(one, now)) {
      const how = now.status === one.status ? "with other results" : `is ${now.status}`;
      other.push(`${one.id} was ${one.status}, ${how}`);
    }
  }
  return [
    ...gone.length > 0 ? [`${gone.length} of ${told.size} acknowledged runs are not known: ${few(gone)}`] : [],
    ...other.length > 0 ? [`${other.length} acknowledged runs are not as they were told: ${line(few(other))}`] : [],
  ];
}

/** The reason why a stored result that a client has the handle of cannot be read. */
async function unreadable(client: RawClient, { results }: Told): Promise<string | undefined> {
  for (const [task, value] of Object.entries<{ handle?: string } | null>(JSON.parse(results ?? "{}"))) {
    if (typeof value?.handle !== "string") continue;
    const args = { handle: value.handle, path: "task" };
    const reply = await ask(client, "call_tool", { tool: "agentcards:read_result", arguments: args });
    // An answer that could not be stored is told as such, with its beginning.
    const isNoted = /what is here has note, shape, preview/.test(reply.text);
    if (!isNoted && (reply.kind !== "answer" || !reply.text.includes(task))) {
      return `the result of ${task}: ${line(reply.text)}`;
    }
  }
}

function isStill(told: Told, now: RunNow): boolean {
  if (told.isGoingOn) return true;
  return told.status === now.status && (!isOver(told.status) || told.results === now.results);
}

/** One run as the product tells it now, or its refusal. */
async function look(client: RawClient, id: string): Promise<RunNow | string> {
  const reply = await ask(client, "resume_workflow", { workflow_id: id, action: "status" });
  if (reply.kind !== "answer") return line(reply.text);
  const { status, results, tasks } = JSON.parse(reply.text);
  const rows = (tasks as { id: string; status: string }[]).map((task) => [task.id, task.status] as const);
  return { status, results: JSON.stringify(results), tasks: new Map(rows) };
}

/** Effects that were made more than once, and tasks that were executed after their run was told to be over. */
export function repeated({ oracle: file }: FaultHome, { told, tasks }: Ledger): string[] {
  const begins = Map.groupBy(beginsIn(file), ({ task }) => task);
  const twice = [...begins].filter(([task, list]) => tasks.get(task) === "effectful" && list.length > 1);
  const over = new Map(
    [...told.values()].filter(({ status }) => isOver(status)).flatMap(({ tasks, at }) => tasks.map((id) => [id, at])),
  );
  const again = [...begins].filter(([task, list]) => list.some(({ at }) => at > (over.get(task) ?? Infinity)));
  const names = (found: [string, unknown][]) => few(found.map(([task]) => task));
  return [
    ...twice.length > 0 ? [`${twice.length} effects were made more than once without a word: ${names(twice)}`] : [],
    ...again.length > 0 ? [`${again.length} tasks of finished runs were executed again: ${names(again)}`] : [],
  ];
}

interface Doubts {
  readonly home: FaultHome;
  readonly ledger: Ledger;
  readonly listed: readonly ListedRun[];
}

/** Effects that were made and that neither a finished task nor a doubt tells of. */
export async function hidden(client: RawClient, { home, ledger, listed }: Doubts): Promise<string[]> {
  const over = new Set(
    [...ledger.told.values()].filter(({ status }) => isOver(status)).flatMap(({ tasks }) => tasks),
  );
  const made = new Set(
    beginsIn(home.oracle).map(({ task }) => task).filter((task) =>
      ledger.tasks.get(task) === "effectful" && !over.has(task)
    ),
  );
  if (made.size === 0) return [];
  const now = new Map<string, string>();
  for (const { id } of listed.filter(({ id }) => !isOver(ledger.told.get(id)?.status ?? "running"))) {
    const run = await look(client, id);
    if (typeof run !== "string") { for (const [task, status] of run.tasks) now.set(task, status); }
  }
  const isTold = (status: string | undefined) => status === "success" || status === "in_doubt";
  const wrong = [...made].filter((task) => !isTold(now.get(task)));
  if (wrong.length === 0) return [];
  const shown = wrong.map((task) => `${task} (${now.get(task) ?? "its run is not known"})`);
  return [`${wrong.length} effects were made and are neither done nor in doubt: ${few(shown)}`];
}

function beginsIn(file: string) {
  const oracle = createOracle(file);
  try {
    return oracle.begins("");
  } finally {
    oracle.close();
  }
}
