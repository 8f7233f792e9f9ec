import type { Session } from "../../call/mod.ts";
import {
  AgentCardsError,
  type Call,
  type CallResult,
  isObject,
  type JsonObject,
  toAgentCardsError,
} from "../../model/mod.ts";
import { requireNoAgents } from "../agent_session.ts";
import { workflowAnswer } from "../answer.ts";
import { resultOfRun } from "../attachments.ts";
import type { Decider, RunView } from "../decider.ts";
import type { Workflows } from "../port.ts";
import type { SavedWorkflows } from "./saved.ts";

const DEEPEST_CHAIN = 8;

/** Runs saved workflows for calls of `workflow:NAME`: those of agents and people, and those of tasks and their code. */
export function createSavedRunner(saved: SavedWorkflows, workflows: Pick<Workflows, "start" | "attach" | "resume">) {
  return async (session: Session, name: string, call: Call): Promise<CallResult> => {
    const { run: parent, chain = [], after = [] } = call.origin;
    requireNew(name, chain);
    const decider: Decider = { session, caller: call, by: "agent" };
    const start = async (watching = decider) => {
      const given = isObject(call.params.arguments) ? call.params.arguments as JsonObject : {};
      const prepared = await saved.prepare(session, name, given);
      if (call.origin.agent !== undefined) requireNoAgents(prepared.tasks);
      const options = { ...prepared.options, chain: [...chain, name], ...after.length > 0 && { after } };
      return await workflows.start({ ...prepared, options }, watching);
    };
    if (parent === undefined) {
      const view = await start();
      return {
        kind: "result",
        result: resultOfRun(await workflowAnswer(view, session), view.state.status === "failed"),
      };
    }
    const view = await inside(call, { workflows, decider, start });
    return await resultInside(view, { session, name });
  };
}

interface Inside {
  readonly workflows: Pick<Workflows, "attach" | "resume">;
  readonly decider: Decider;
  start(watching: Decider): Promise<RunView>;
}

/** The run that a task had started before a restart, else a new one. It ends with the run that its task belongs to. */
async function inside(call: Call, { workflows, decider, start }: Inside): Promise<RunView> {
  let id: string | undefined;
  const watched: Decider = { ...decider, onStart: (view) => id = view.id };
  const key = await call.key!();
  try {
    return await workflows.attach(key, watched, () => {}) ?? await start(watched);
  } finally {
    const { data } = call.signal.aborted ? toAgentCardsError(call.signal.reason) : {};
    if (id !== undefined && (data?.stop === "abort" || data?.stop === "timeout")) {
      const caller = { ...decider.caller, signal: new AbortController().signal };
      await workflows.resume({ workflow_id: id, action: "abort" }, { ...decider, caller }).catch(() => {});
    }
  }
}

/** The answer of a run as the result of the task that called it: only a run that completed succeeded. */
async function resultInside(
  { id, state }: RunView,
  { session, name }: { readonly session: Session; readonly name: string },
): Promise<CallResult> {
  if (state.status === "paused" || state.status === "running") {
    const why = state.pending?.why ?? "it is not over";
    throw new AgentCardsError("HUMAN_NEEDED", `workflow:${name} waits`, {
      data: { question: `its run ${id} waits (${why}); decide about that one, then continue this one` },
    });
  }
  const { body } = await workflowAnswer({ id, state }, session);
  const isError = state.status !== "completed";
  return {
    kind: "result",
    result: {
      content: [{ type: "text", text: isError ? `${id} ${state.status}: ${state.error ?? ""}` : JSON.stringify(body) }],
      ...isError ? { isError } : { structuredContent: body },
    },
  };
}

function requireNew(name: string, chain: readonly string[]): void {
  if (!chain.includes(name) && chain.length < DEEPEST_CHAIN) return;
  const way = [...chain, name].join(" → ");
  throw new AgentCardsError(
    "PLAN_INVALID",
    chain.includes(name)
      ? `workflow:${name} calls itself: ${way}`
      : `Saved workflows call each other more than ${DEEPEST_CHAIN} deep: ${way}`,
  );
}
