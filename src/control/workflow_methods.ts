import { isGenuine, type RunEvent, type RunRow, type RunState } from "../dag/mod.ts";
import { AgentCardsError, isObject, type Json, splitToolId } from "../model/mod.ts";
import {
  type Decider,
  parseResume,
  parseRun,
  reportOf,
  reportsOf,
  type RunDetails,
  type RunReport,
  type RunView,
  statsOf,
  type TaskReport,
  tasksOf,
  unknownRun,
  workflowAnswer,
  type WorkSession,
} from "../workflow/mod.ts";
import { observeRun } from "./observe.ts";
import type { ControlContext, Method } from "./context.ts";

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
    return (await workflowAnswer(await session.workflows.start(request, decider), session)).body;
  }],
  ["runs", async ({ session }, { limit }): Promise<RunReport[]> => {
    const { workflows } = await session;
    return await reportsOf(workflows, { limit: typeof limit === "number" ? limit : 20 });
  }],
  ["run_show", async ({ session }, { id }): Promise<RunDetails> => {
    return await detailsOf(await session, id);
  }],
  ["observe", async ({ session, signal, progress }, { id }): Promise<RunDetails> => {
    const { workflows } = await session;
    const row = await found(await session, id);
    progress({ id: row.id, reports: [] } satisfies RunProgress);
    for await (const event of observeRun(workflows, row.id, signal)) progress({ event } satisfies RunProgress);
    return await detailsOf(await session, row.id);
  }],
  ["decide", async (context, params) => {
    const session = await context.session;
    const { hash, ...input } = params;
    const request = { ...parseResume(input), ...typeof hash === "string" && { hash } };
    const view = await session.workflows.resume(request, deciderOf(context, session));
    return (await workflowAnswer(view, session)).body;
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
    caller: { signal, client: {}, human: ask ? { kind: "here", ask, approvals: "elsewhere" } : { kind: "nobody" } },
    by: "human",
    onStart: ({ id, state }: RunView) => progress({ id, reports: tasksOf(state) } satisfies RunProgress),
    onEvent: (event) => progress({ event } satisfies RunProgress),
  };
}

async function detailsOf(session: WorkSession, id: unknown): Promise<RunDetails> {
  const { journal } = session.workflows;
  const row = await found(session, id);
  const { state } = await journal.open(row.id);
  const events = await journal.events(row.id);
  return { ...reportOf(row, state), reports: tasksOf(state), events, stats: statsOf(state) };
}

async function found(session: WorkSession, id: unknown): Promise<RunRow> {
  if (typeof id !== "string" || id === "") throw new AgentCardsError("USAGE", "Say which run: its id begins with wf_");
  const row = await session.workflows.journal.find(id);
  if (!row) throw unknownRun(id);
  return row;
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
