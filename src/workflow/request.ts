import type { RunOptions } from "../dag/mod.ts";
import {
  AgentCardsError,
  type Caller,
  isObject,
  type JsonObject,
  oneLine,
  signature,
  splitToolId,
  type Tool,
} from "../model/mod.ts";
import { cautiously, type Proposal } from "../suggest/mod.ts";
import { workflowAnswer } from "./answer.ts";
import { listRuns } from "./list.ts";
import { meantTools, type RunAnswer, withReadsAhead } from "./attachments.ts";
import { parseResumeOrReplan, parseRunOrIntent } from "./input.ts";
import type { RunView } from "./decider.ts";
import type { WorkSession } from "./port.ts";

const SHOWN_REASONS = 24;

/** Runs what an agent sent: tasks, or what it wants in words. */
export async function runRequest(session: WorkSession, input: unknown, caller: Caller): Promise<RunAnswer> {
  const request = parseRunOrIntent(input);
  if ("intent" in request) return await runIntent(session, request, caller);
  const { tasks, options, label } = request;
  const name = label === undefined ? "" : oneLine(label, 80);
  const offered = session.suggestions.ran(session, tasks);
  const view = await session.workflows.start({ tasks, options, name }, { session, caller, by: "agent" });
  session.suggestions.began(session, view.id, label ?? offered);
  noteSuccess(session, view);
  const answer = { ...await workflowAnswer(view, session), ...meantTools(request.tasks, view.state.plan) };
  return await withReadsAhead(session, view, { answer, caller });
}

/** Does what an agent decided about a run. */
export async function resumeRequest(session: WorkSession, input: unknown, caller: Caller): Promise<RunAnswer> {
  const request = parseResumeOrReplan(input);
  if (!request) return { body: await listRuns(session) };
  if (request.action === "replan") return await replanRun(session, request, caller);
  const view = await session.workflows.resume(request, { session, caller, by: "agent" });
  noteSuccess(session, view);
  if (request.action === "continue" || request.action === "abort") {
    session.suggestions.decided(request.workflow_id, request.action === "continue");
  }
  const answer = { ...await workflowAnswer(view, session), ...meantTools(request.tasks, view.state.plan) };
  return await withReadsAhead(session, view, { answer, caller });
}

function noteSuccess(session: WorkSession, { id, state }: RunView): void {
  if (state.status === "completed") session.suggestions.succeeded(session, id, state.plan);
}

/** Plans what is wanted in words; where it is sure enough, the part that only reads is run at once. */
async function runIntent(
  session: WorkSession,
  { intent, options }: { readonly intent: string; readonly options: RunOptions },
  caller: Caller,
): Promise<RunAnswer> {
  session.observer.asked(intent);
  const proposal = await session.suggestions.suggest(session, intent);
  const answer = proposalAnswer(proposal);
  if (proposal.mode !== "speculative_execution") {
    if (proposal.tasks.length > 0) session.suggestions.offered(session, intent, proposal);
    return { body: answer };
  }
  const careful = cautiously(session.config, proposal.tasks, (id) => toolIn(session, id));
  const view = await session.workflows.start(
    { tasks: careful.tasks, options: { ...options, ...careful.options }, name: oneLine(intent, 80) },
    { session, caller, by: "agent" },
  );
  session.suggestions.offered(session, intent, proposal, view.id);
  noteSuccess(session, view);
  const { body, ...rest } = await workflowAnswer(view, session);
  return await withReadsAhead(session, view, { answer: { ...rest, body: { ...answer, ...body } }, caller });
}

/** Proposes tasks for what else is wanted of a run, bound to what is there already; the agent adds them by itself. */
async function replanRun(
  session: WorkSession,
  { workflow_id, requirement }: { readonly workflow_id: string; readonly requirement: string },
  caller: Caller,
): Promise<RunAnswer> {
  const by = { session, caller, by: "agent" } as const;
  const { state } = await session.workflows.resume({ workflow_id, action: "status" }, by);
  if (state.status === "completed") {
    throw new AgentCardsError("RUN_STATE", `${workflow_id} is over: completed`, {
      hint: "Run a new workflow for what else is wanted.",
    });
  }
  const proposal = await session.suggestions.extend(session, requirement, state);
  const next = proposal.tasks.length === 0
    ? "Nothing was added. Look with search_tools, then add tasks of your own with inject."
    : `Nothing was added.${
      proposal.missing.length > 0 ? " Fill in what is missing." : ""
    } Check the tasks, then add those you want with resume_workflow inject.`;
  return { body: { ...proposalAnswer(proposal), next, workflow_id, status: state.status } };
}

function toolIn(session: WorkSession, id: string): Tool | undefined {
  const { server = "", name } = splitToolId(id);
  return session.inMemory(server, name);
}

/** The answer about a suggestion, with the next step. */
function proposalAnswer(
  { mode, confidence, tasks, missing, explanation, problem, notes, likely }: Proposal,
): JsonObject {
  return {
    mode,
    confidence,
    workflow: {
      tasks: tasks.map(({ depends_on, ...task }) => ({ ...task, ...depends_on && { depends_on: [...depends_on] } })),
    },
    ...mode === "explicit_required" && likely.length > 0 && { tools: likely.map((tool) => signature(tool)) },
    ...tasks.length === 0 && likely.length > 0 && { skeleton: { tasks: skeletonOf(likely) } },
    missing: missing.map(({ tool, parameter, why, task }) => ({ task, tool, parameter, why })),
    explanation: explanation.slice(0, SHOWN_REASONS),
    ...problem !== undefined && { problem },
    ...notes.length > 0 && { notes: [...notes] },
    next: nextStep(mode, { isEmpty: tasks.length === 0, isMissing: missing.length > 0 }),
  };
}

/** The beginning of a workflow to be filled in: the tool that fits best, with the arguments that it needs. */
function skeletonOf([tool]: readonly Tool[]): JsonObject[] {
  const { properties, required } = tool!.inputSchema;
  const names = Array.isArray(required) ? required.filter((name): name is string => typeof name === "string") : [];
  const typeOf = (name: string) => {
    const schema = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
    return isObject(schema) && typeof schema.type === "string" ? schema.type : "value";
  };
  return [{
    id: "first",
    tool: tool!.id,
    arguments: Object.fromEntries(names.map((name) => [name, `<${typeOf(name)}>`])),
  }];
}

function nextStep(mode: Proposal["mode"], { isEmpty, isMissing }: { isEmpty: boolean; isMissing: boolean }): string {
  if (isEmpty) return "Nothing was run. Look with search_tools, or say it with other words.";
  if (mode === "speculative_execution") {
    return "What only reads was run. resume_workflow goes on (continue) or stops (abort).";
  }
  const run = "run_workflow with these tasks runs them";
  if (mode === "suggestion") {
    return isMissing ? `Nothing was run. Fill in what is missing; ${run}.` : `Nothing was run. If it is right, ${run}.`;
  }
  return `Nothing was run: it is not sure enough. Check tools and arguments against search_tools, correct them, then ${run}.`;
}
