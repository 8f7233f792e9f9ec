import { isGenuine, type RunRow, type RunState } from "../../dag/mod.ts";
import { AgentCardsError, isObject, type JsonObject, splitToolId } from "../../model/mod.ts";
import {
  type Decider,
  parseResume,
  parseRun,
  parseWorkflowFile,
  preparedRun,
  reportOf,
  runBody,
  type RunDetails,
  type RunView,
  type StartRequest,
  statsOf,
  tasksOf,
  unknownRun,
  type WorkSession,
} from "../../workflow/mod.ts";
import type { UndoReport } from "../../snapshot/mod.ts";
import { basename } from "node:path";
import type { Params } from "../api.ts";
import type { ControlContext, Method } from "../context.ts";
import type { Gateway } from "../gateway.ts";
import { observeRun } from "../observe.ts";
import type { ApprovalReport, RunProgress } from "../reports.ts";

export const run: Method<"run"> = async (context, params) => {
  const session = await context.session;
  const request = await requestOf(context, session, params);
  return await runBody(await session.workflows.start(request, deciderOf(context, session)), session);
};

async function requestOf(
  { gateway }: ControlContext<RunProgress>,
  session: WorkSession,
  params: Params<"run">,
): Promise<StartRequest> {
  const { saved, text, path = "", input = {}, pause, name = "", ...given } = params;
  if (saved !== undefined) {
    const prepared = await gateway.saved.prepare(session, saved, input as JsonObject);
    return { ...prepared, options: { ...prepared.options, chain: [saved] } };
  }
  if (text === undefined) return { ...parseRun(given), name };
  const file = await parseWorkflowFile(text, path);
  const prepared = await preparedRun(file, input as JsonObject, file.name ?? basename(path));
  return { ...prepared, options: { ...prepared.options, ...pause && { pause } } };
}

export const runShow: Method<"run_show"> = async ({ session }, { id }) => await detailsOf(await session, id);

export const runUndo: Method<"run_undo"> = async (
  { gateway, session },
  { id, task, preview, take_back: takesBack },
) => {
  const row = await found(await session, id);
  if (row.status === "running" && row.isHeld && !preview) {
    throw new AgentCardsError("RUN_STATE", `${row.id} is running`, {
      hint: `Wait for its end, or give it up first: agentcards runs abort ${row.id}`,
    });
  }
  const report = await gateway.snapshots.undo(row.id, { task, isPreview: preview, takesBack });
  return noted(gateway, report, row.id);
};

export const promptUndo: Method<"prompt_undo"> = async ({ gateway, session }, { preview, take_back: takesBack }) => {
  const { cwd } = await session;
  return noted(gateway, await gateway.snapshots.prompts.undo(cwd, { isPreview: preview, takesBack }));
};

/** Files that were put back are told in the audit. */
function noted({ audit }: Pick<Gateway, "audit">, report: UndoReport, run?: string): UndoReport {
  const { state, root, files } = report;
  if (state === "undone" || state === "taken_back") {
    audit.append({ kind: "undo", by: "human", run, state, project: root, files: files.length });
  }
  return report;
}

export const observe: Method<"observe"> = async ({ session, signal, progress }, { id }) => {
  const { workflows } = await session;
  const row = await found(await session, id);
  progress({ id: row.id, reports: [] });
  for await (const event of observeRun(workflows, row.id, signal)) progress({ event });
  return await detailsOf(await session, row.id);
};

export const decide: Method<"decide"> = async (context, { hash, ...input }) => {
  const session = await context.session;
  const request = { ...parseResume(input), ...hash !== undefined && { hash } };
  return await runBody(await session.workflows.resume(request, deciderOf(context, session)), session);
};

export const approvals: Method<"approvals"> = async ({ session }) => {
  const open = await session;
  const { journal } = open.workflows;
  const asked = open.shared.approvals.list();
  const paused = await journal.list({ status: ["paused"] });
  const waiting = paused.filter(({ summary }) => isObject(summary.pending) && summary.pending.reason === "approval");
  const ofRuns = await Promise.all(
    waiting.map(async (row) => await approvalOf(open, row, (await journal.open(row.id)).state)),
  );
  return [...asked, ...ofRuns.flat()];
};

export const decideCall: Method<"decide_call"> = async ({ session }, { id, hash, action, note }) => {
  const { shared } = await session;
  if (shared.approvals.decide(id, hash, { word: action, ...note !== undefined && { note } })) return {};
  throw new AgentCardsError("RUN_STATE", `${id} does not wait for approval any more`);
};

function deciderOf({ signal, ask, progress }: ControlContext<RunProgress>, session: WorkSession): Decider {
  return {
    session,
    // About approvals the command line asks by itself, with the whole call in sight.
    caller: { signal, client: {}, human: ask ? { kind: "here", ask, approvals: "elsewhere" } : { kind: "nobody" } },
    by: "human",
    onStart: ({ id, state }: RunView) => progress({ id, reports: tasksOf(state) }),
    onEvent: (event) => progress({ event }),
  };
}

async function detailsOf(session: WorkSession, id: string): Promise<RunDetails> {
  const { journal } = session.workflows;
  const row = await found(session, id);
  const { state } = await journal.open(row.id);
  const events = await journal.events(row.id);
  return { ...reportOf(row, state), reports: tasksOf(state), events, stats: statsOf(state) };
}

async function found(session: WorkSession, id: string): Promise<RunRow> {
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
