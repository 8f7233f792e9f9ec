// A runner of workflows in a process of its own: it begins runs, or takes them over, when it is told to, in a journal
// that it shares with others. Its tools append to a file what they do. Doubts it resolves by skipping.
import type { Happening, RunEvent } from "../../src/dag/event.ts";
import { createJournal, type Journal, type Writer } from "../../src/dag/journal/journal.ts";
import type { RunRow } from "../../src/dag/journal/run_row.ts";
import { plan } from "../../src/dag/plan.ts";
import { startRun } from "../../src/dag/run.ts";
import type { CallOptions, RunPorts, TaskResult } from "../../src/dag/run_port.ts";
import { createFold, type Fold, record } from "../../src/dag/state.ts";
import type { ToolTask } from "../../src/dag/task.ts";
import { createRpc } from "./line_rpc.ts";
import { type DagTask, kindOf } from "./random_dag.ts";
import { remoteDatabase } from "./remote_database.ts";

const [socket, log, name, leaseMs] = Deno.args as [string, string, string, string];
const encoder = new TextEncoder();
const file = Deno.openSync(log, { append: true, create: true });
/** What each part of a run that this runner had came to, and the rows it was told to be written. */
const parts = new Map<string, Part>();
const looked = new Map<string, { row: RunRow; fold: Fold }>();

interface Part {
  readonly written: number[];
  end: Promise<string>;
}

interface Named {
  readonly run: string;
  /** Which of its two journals: one runner may quarrel with itself. */
  readonly journal: 0 | 1;
}

const rpc = createRpc(await Deno.connect({ transport: "unix", path: socket }), {
  begin: ({ run, journal, tasks, options }: Named & { tasks: readonly DagTask[]; options: object }) => {
    const planned = plan(tasks, { maxTasks: 1_000, check: () => [] });
    const head = { name, cwd: "/", fingerprint: "", servers: ["worker"], variables: [], summary: {} };
    const writer = journals[journal].begin({ id: run, ...head });
    const fold = createFold();
    const first = record(fold, [{ kind: "planned", tasks: planned.tasks.map(({ task }) => task), options }]);
    launch({ run, epoch: 1, fold, writer, first, journal: journals[journal] });
  },
  /** Reads a run that might be taken; false when there is nothing to take. */
  look: async ({ run, journal }: Named) => {
    const row = await journals[journal].find(run);
    if (!row || !["running", "paused"].includes(row.status)) return row?.status ?? "missing";
    looked.set(run, { row, fold: await journals[journal].open(run) });
    return row.status;
  },
  /** Takes the run that was looked at; the new epoch, or 0 when somebody was faster or its runner lives. */
  grab: async ({ run, journal }: Named) => {
    const { row, fold } = looked.get(run)!;
    const isPaused = fold.state.status === "paused";
    const decided: Happening[] = isPaused ? [{ kind: "command", by: "agent", decision: { action: "continue" } }] : [];
    return await take({ row, fold, journal: journals[journal], decided });
  },
  /** Waits for the end of what this runner does under an epoch. */
  end: async ({ run, epoch }: { run: string; epoch: number }) => {
    const part = parts.get(`${run} ${epoch}`)!;
    return { status: await part.end, written: part.written };
  },
});
const database = remoteDatabase(rpc);
const options = { isAlone: false, leaseMs: Number(leaseMs) };
const journals = [createJournal(database, options), createJournal(database, options)] as const;
await rpc.ask("hello", { name });
await rpc.closed;
Deno.exit(0);

interface Taking {
  readonly row: RunRow;
  readonly fold: Fold;
  readonly journal: Journal;
  readonly decided: readonly Happening[];
}

async function take({ row, fold, journal, decided }: Taking): Promise<number> {
  const first = record(fold, [...decided, { kind: "resumed", why: `taken by ${name}` }]);
  const writer = await journal.take(row, first, {});
  if (!writer) return 0;
  const epoch = row.epoch + 1;
  launch({ run: row.id, epoch, fold, writer, first: [], journal });
  return epoch;
}

interface Launch {
  readonly run: string;
  readonly epoch: number;
  readonly fold: Fold;
  readonly writer: Writer;
  readonly first: readonly RunEvent[];
  readonly journal: Journal;
}

function launch({ run, epoch, fold, writer, first, journal }: Launch): void {
  const part: Part = { written: [], end: Promise.resolve("") };
  const watched: Writer = {
    ...writer,
    append: (event, summary) => {
      const written = writer.append(event, summary);
      written.then(() => part.written.push(event.seq), () => {});
      return written;
    },
  };
  for (const event of first) void watched.append(event).catch(() => {});
  const planned = plan(fold.state.plan, { maxTasks: Infinity, check: () => [] });
  const caps = { all: 1_000, perServer: 1_000 };
  const { events } = startRun({ fold, plan: planned, writer: watched, ports: portsOf({ run, epoch, fold }), caps });
  part.end = (async () => {
    for await (const _event of events);
    const { status, pending, tasks } = fold.state;
    if (status !== "paused" || pending?.reason !== "in_doubt") return status;
    const skipped = [...tasks.values()].filter((task) => task.status === "in_doubt").flatMap(({ id }): Happening[] => [
      { kind: "command", by: "agent", decision: { action: "resolve", task: id, outcome: "skip" } },
      { kind: "skipped", task: id, why: "nobody knows" },
    ]);
    const row = (await journal.find(run))!;
    const next = await take({ row, fold, journal, decided: skipped });
    return next === 0 ? "taken" : `continued ${next}`;
  })().catch((error) => `broken: ${error.message}`);
  parts.set(`${run} ${epoch}`, part);
}

function portsOf({ run, epoch, fold }: { run: string; epoch: number; fold: Fold }): RunPorts {
  const note = (kind: "begin" | "end", { id }: ToolTask, attempt: number) =>
    file.writeSync(encoder.encode(`${kind} ${run} ${id} ${attempt} ${epoch} ${name}\n`));
  async function callTool(
    task: ToolTask,
    args: { ms?: number },
    { signal, onSent, beforeSend }: CallOptions,
  ): Promise<TaskResult> {
    try {
      await beforeSend(undefined);
    } catch {
      return { ok: false, kind: "failed", error: "the run is over" };
    }
    onSent();
    const { attempt } = fold.state.tasks.get(task.id)!;
    note("begin", task, attempt);
    await new Promise((resolve) => setTimeout(resolve, args.ms));
    note("end", task, attempt);
    if (signal.aborted) return { ok: false, kind: "failed", error: "it was called off" };
    return { ok: true, output: { kind: "value", value: task.id }, bytes: 1 };
  }
  return {
    callTool,
    runCode: () => Promise.resolve({ ok: false, kind: "failed", error: "there is no code here" }),
    runAgent: () => Promise.resolve({ ok: false, kind: "failed", error: "there is no agent here" }),
    toolFor: () => Promise.reject(new Error("there is no code here")),
    effectOf: (task) => task.type === "tool" ? kindOf(task) : "read",
    serverOf: () => "worker",
    askHuman: () => Promise.resolve(undefined),
    approvable: () => Promise.reject(new Error("there is no code here")),
    load: () => Promise.resolve([]),
  };
}
