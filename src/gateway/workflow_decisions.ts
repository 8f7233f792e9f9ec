import { APPROVAL_MS, NOT_ALLOWED } from "../dag/approval.ts";
import type { DecidedBy, Happening } from "../dag/event.ts";
import type { RunState } from "../dag/run_state.ts";
import type { Plan } from "../dag/task.ts";
import { AgentCardsError } from "../model/errors.ts";
import type { Json } from "../model/json.ts";

export type Action = "status" | "continue" | "abort" | "approve" | "reject" | "inject" | "resolve";

/** What somebody wants to be done with a run. */
export interface Request {
  readonly workflow_id: string;
  readonly action: Action;
  readonly tasks?: unknown[] | undefined;
  readonly task?: string | undefined;
  readonly outcome?: "done" | "retry" | "skip" | undefined;
  readonly value?: Json | undefined;
  /** What exactly was shown to the human who approves. */
  readonly hash?: string;
}

/** What a decision about a run that rests means for its journal; an error when it does not fit what the run waits for. */
export function happeningsOf(
  request: Request,
  by: DecidedBy,
  { state, plan }: { state: RunState; plan?: Plan | undefined },
): Happening[] {
  const { action } = request;
  const reason = state.pending?.reason ?? "waiting";
  switch (action) {
    case "continue":
      if (reason === "in_doubt") throw unfit(request, "a call may have happened; resolve it first");
      return [{ kind: "command", by, decision: { action } }];
    case "inject":
      return [
        { kind: "command", by, decision: { action, tasks: plan!.tasks.length - state.plan.length } },
        { kind: "planned", tasks: plan!.tasks.map(({ task }) => task).filter(({ id }) => !state.tasks.has(id)) },
      ];
    case "abort":
      return [{ kind: "command", by, decision: { action } }];
    case "approve":
    case "reject":
      return approval(request, by, state);
    case "resolve":
      return resolution(request, by, state);
    default:
      throw unfit(request, `it is paused: ${reason}`);
  }
}

function approval(request: Request, by: DecidedBy, { pending, tasks }: RunState): Happening[] {
  const call = pending?.reason === "approval" ? pending.calls[0] : undefined;
  if (!pending?.hash || !call) throw unfit(request, "no call waits for approval");
  if (by !== "human") throw onlyHumans(request.workflow_id);
  if (request.hash !== pending.hash) {
    throw unfit(request, "the call has changed since it was shown; look at it again");
  }
  const about = { task: call.task, hash: pending.hash };
  if (request.action === "approve") {
    return [{ kind: "command", by, decision: { action: "approve", ...about, expires: Date.now() + APPROVAL_MS } }];
  }
  const { attempt = 0, isCode } = tasks.get(call.task) ?? {};
  // Code hears of it and may do something else.
  if (isCode) return [{ kind: "command", by, decision: { action: "reject", ...about } }];
  return [
    { kind: "command", by, decision: { action: "reject", ...about } },
    { kind: "failed", task: call.task, attempt, ms: 0, error: NOT_ALLOWED, status: "error" },
  ];
}

/** The error of an agent that would decide what only its human may. */
export function onlyHumans(id: string): AgentCardsError {
  return new AgentCardsError("TOOL_DENIED", "Only a human can approve or reject this call", {
    hint: `Ask the user to run \`agentcards approve ${id}\` (or reject) in a terminal, then continue.`,
  });
}

function resolution(request: Request, by: DecidedBy, { tasks }: RunState): Happening[] {
  const doubtful = [...tasks.values()].filter(({ status }) => status === "in_doubt");
  const task = request.task === undefined && doubtful.length === 1
    ? doubtful[0]
    : doubtful.find(({ id }) => id === request.task);
  if (!task || !request.outcome) {
    const names = doubtful.map(({ id }) => id).join(", ");
    throw unfit(
      request,
      names ? `say which task (${names}) and its outcome: done, retry or skip` : "no task is in doubt",
    );
  }
  const { id, attempt } = task;
  const command: Happening = {
    kind: "command",
    by,
    decision: { action: "resolve", task: id, outcome: request.outcome },
  };
  const word = by === "human" ? "a human" : "the agent";
  if (request.outcome === "retry") return [command];
  if (request.outcome === "skip") return [command, { kind: "skipped", task: id, why: `${word} decided to skip it` }];
  const value = request.value ?? null;
  const bytes = JSON.stringify(value).length;
  if (task.doubt !== undefined) {
    // One call of its code is decided; the code goes on with what it is said to have given.
    const answer = { kind: "output", output: { kind: "value", value } } as const;
    return [command, { kind: "answered", task: id, attempt, call: task.doubt, bytes, answer }];
  }
  return [command, { kind: "done", task: id, attempt, ms: 0, bytes, output: { kind: "value", value } }];
}

function unfit({ workflow_id, action }: Request, why: string): AgentCardsError {
  return new AgentCardsError("RUN_STATE", `${workflow_id} cannot take "${action}" now: ${why}`, {
    hint: "Its status says what it waits for.",
  });
}
