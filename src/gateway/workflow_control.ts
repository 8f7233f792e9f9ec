import { isGenuine } from "../dag/approval.ts";
import type { RunEvent, RunStatus, TaskStatus } from "../dag/event.ts";
import type { RunFilter, RunRow } from "../dag/journal.ts";
import { ranMs, type RunState } from "../dag/run_state.ts";
import { AgentCardsError } from "../model/errors.ts";
import { isObject, type Json, type JsonObject } from "../model/json.ts";
import type { ControlContext, Method } from "./control.ts";
import { pendingText, type RunStats, statsOf, workflowAnswer } from "./workflow_answer.ts";
import { parseResume, parseRun } from "./workflow_input.ts";
import type { Decider, RunView } from "./workflow_live.ts";
import { isResting, restingState, unknownRun } from "./workflow_resting.ts";
import { splitToolId } from "../model/tool.ts";
import type { Workflows, WorkSession } from "./workflows.ts";

/** One task as a person sees it. */
export interface TaskReport {
  readonly id: string;
  /** `server:tool`, or `code`. */
  readonly what: string;
  readonly depends_on: readonly string[];
  readonly status: TaskStatus | "waiting" | "running";
  readonly attempt: number;
  /** When it began, in milliseconds since 1970, and how long it took. */
  readonly began: number | null;
  readonly ms: number;
  readonly bytes: number;
  readonly error: string | null;
}

/** One run as lists show it. */
export interface RunReport {
  readonly id: string;
  readonly name: string;
  readonly status: RunStatus;
  readonly cwd: string;
  readonly created: number;
  readonly updated: number;
  readonly tasks: number;
  readonly succeeded: number;
  /** Milliseconds it really ran. */
  readonly ms: number;
  readonly error: string | null;
  /** What it waits for: reason, for whom, why, which task and call. */
  readonly pending: JsonObject | null;
}

/** One run, whole. */
export interface RunDetails extends RunReport {
  readonly reports: readonly TaskReport[];
  readonly events: readonly RunEvent[];
  readonly stats: RunStats;
}

/** What comes while a run goes on: first the run with its tasks, then what happens. */
export type RunProgress =
  | { readonly id: string; readonly reports: readonly TaskReport[] }
  | { readonly event: RunEvent };

/** A call that waits for a human. */
export interface ApprovalReport {
  readonly id: string;
  readonly cwd: string;
  readonly since: number;
  /** The task of a run; absent for a call by itself, whose dialogue is open in a client. */
  readonly task?: string;
  readonly tool: string;
  readonly arguments: Json;
  readonly why: string;
  /** What exactly would be approved; goes back with the decision. */
  readonly hash: string;
}

/** What the command line can ask about runs. Whoever asks here is a person. */
export const WORKFLOW_METHODS: readonly [string, Method][] = [
  ["run", async (context, { tasks, options, name }) => {
    const session = await context.session;
    const decider = deciderOf(context, session);
    const request = { ...parseRun({ tasks, ...options !== undefined && { options } }), name: String(name ?? "") };
    return await workflowAnswer(await session.workflows.start(request, decider), session);
  }],
  ["runs", async ({ session }, { limit }): Promise<RunReport[]> => {
    const { workflows } = await session;
    return await reportsOf(workflows, { limit: typeof limit === "number" ? limit : 20 });
  }],
  ["run_show", async ({ session }, { id }): Promise<RunDetails> => {
    const { journal } = (await session).workflows;
    const row = await found(await session, id);
    const { state } = await journal.open(row.id);
    const events = await journal.events(row.id);
    return { ...reportOf(row, state), reports: tasksOf(state), events, stats: statsOf(state) };
  }],
  ["decide", async (context, params) => {
    const session = await context.session;
    const { hash, ...input } = params;
    const request = { ...parseResume(input), ...typeof hash === "string" && { hash } };
    return await workflowAnswer(await session.workflows.resume(request, deciderOf(context, session)), session);
  }],
  ["approvals", async ({ session }): Promise<ApprovalReport[]> => {
    const open = await session;
    const { journal } = open.workflows;
    const asked = open.shared.approvals.list();
    const paused = await journal.list({ status: ["paused"] });
    const waiting = paused.filter(({ summary }) => isObject(summary.pending) && summary.pending.reason === "approval");
    const runs = await Promise.all(
      waiting.map(async (row) => await approvalOf(open, row, (await journal.open(row.id)).state)),
    );
    return [...asked, ...runs.flat()];
  }],
  ["decide_call", async ({ session }, { id, hash, action }) => {
    const { approvals } = (await session).shared;
    const isDecided = approvals.decide(String(id), String(hash), action === "approve" ? "approve" : "reject");
    if (isDecided) return {};
    throw new AgentCardsError("RUN_STATE", `${String(id)} does not wait for a word any more`);
  }],
];

function deciderOf({ signal, ask, progress }: ControlContext, session: WorkSession): Decider {
  return {
    session,
    // About approvals the command line asks by itself, with the whole call in sight.
    caller: { signal, ...ask && { ask, asksForServersOnly: true } },
    by: "human",
    onStart: ({ id, state }: RunView) => progress({ id, reports: tasksOf(state) } satisfies RunProgress),
    onEvent: (event) => progress({ event } satisfies RunProgress),
  };
}

async function found(session: WorkSession, id: unknown): Promise<RunRow> {
  if (typeof id !== "string" || id === "") throw new AgentCardsError("USAGE", "Say which run: its id begins with wf_");
  const row = await session.workflows.journal.find(id);
  if (!row) throw unknownRun(id);
  return row;
}

/** Runs as lists show them, the newest first; of one that is running, how it stands now. */
export async function reportsOf({ journal, state }: Workflows, filter: RunFilter): Promise<RunReport[]> {
  const rows = await journal.list(filter);
  return await Promise.all(
    rows.map(async (row) =>
      reportOf(row, row.status === "running" ? state(row.id) ?? (await journal.open(row.id)).state : undefined)
    ),
  );
}

function reportOf(row: RunRow, state?: RunState): RunReport {
  const { id, name, cwd, created, updated, summary } = row;
  const isWaiting = isResting(row);
  const pending = state && (isWaiting ? restingState(state) : state).pending;
  const all = state ? [...state.tasks.values()] : [];
  return {
    id,
    name,
    status: isWaiting ? "paused" : row.status,
    cwd,
    created,
    updated,
    tasks: state ? all.length : Number(summary.tasks ?? 0),
    succeeded: state ? all.filter(({ status }) => status === "success").length : Number(summary.succeeded ?? 0),
    ms: state ? Math.round(ranMs(state, isWaiting ? state.last : Date.now())) : Number(summary.ms ?? 0),
    error: state?.error ?? (typeof summary.error === "string" ? summary.error : null),
    pending: pending
      ? pendingText(id, pending)
      : isWaiting
      ? { reason: "waiting" }
      : isObject(summary.pending)
      ? summary.pending as JsonObject
      : null,
  };
}

function tasksOf({ plan, tasks }: RunState): TaskReport[] {
  return plan.map((task): TaskReport => {
    const { status, attempt, began, ms, bytes, error } = tasks.get(task.id)!;
    return {
      id: task.id,
      what: task.type === "tool" ? task.tool : "code",
      depends_on: task.depends_on,
      status,
      attempt,
      began: began ?? null,
      ms,
      bytes,
      error: error ?? null,
    };
  });
}

async function approvalOf(
  { privacy }: WorkSession,
  { id, cwd, updated }: RunRow,
  { pending }: RunState,
): Promise<ApprovalReport[]> {
  const call = pending?.calls[0];
  // What is not what the hash is of is not shown as if it were.
  if (pending?.reason !== "approval" || !call || !pending.hash || !await isGenuine(id, pending)) return [];
  const given = call.arguments ?? {};
  return [{
    id,
    cwd,
    since: updated,
    task: call.task,
    tool: call.tool ?? "",
    // A human sees what the server will get.
    arguments: await privacy?.restore(given, splitToolId(call.tool ?? "").server ?? "") ?? given,
    why: pending.why,
    hash: pending.hash,
  }];
}
