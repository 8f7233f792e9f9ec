import type { JsonObject } from "../model/mod.ts";
import type { PauseReason, Pending, WaitingCall } from "./event.ts";
import { kindOf } from "./kinds/all.ts";
import type { RunState } from "./run_state.ts";

/** A call that may not go out before somebody decides. */
export interface Held extends WaitingCall {
  readonly reason: "effects" | "approval" | "question" | "sign_in";
  readonly why: string;
  /** The hash of the subject of an approval. */
  readonly hash?: string;
  readonly definition?: string;
}

export interface Waiting {
  readonly held: ReadonlyMap<string, Held>;
  /** The reason why the run starts nothing more. */
  readonly stopped: string | undefined;
  readonly layers: number;
}

const CHOICES: Readonly<Record<PauseReason, readonly string[]>> = {
  layer: ["continue", "inject", "replace", "remove", "abort"],
  effects: ["continue", "inject", "replace", "remove", "abort"],
  after: ["continue", "inject", "replace", "remove", "abort"],
  approval: ["approve", "reject", "abort"],
  in_doubt: ["resolve", "abort"],
  question: ["continue", "abort"],
  sign_in: ["continue", "abort"],
  waiting: ["continue", "abort"],
  restored: ["resolve", "continue", "abort"],
};

/** The pause of a run that cannot go on: the fact that must be known first comes first. */
export function pendingOf(state: RunState, { held, stopped, layers }: Waiting): Pending {
  const doubtful = [...state.tasks.values()].filter(({ status }) => status === "in_doubt");
  if (doubtful.length > 0) {
    const isAnotherWay = doubtful.every(({ isCode, doubt }) => isCode && doubt === undefined);
    const why = isAnotherWay
      ? "code that had acted went another way when it ran again; retry does all of it again"
      : doubtful.length === 1
      ? "a call may or may not have happened"
      : "calls may or may not have happened";
    return made("in_doubt", { why, calls: doubtful.flatMap(({ id }) => doubtfulCalls(state, id)) });
  }
  for (const reason of ["approval", "question", "sign_in", "effects"] as const) {
    // In the order of the plan, not in that of who came to the gate first.
    const calls = state.plan.flatMap(({ id }) => held.get(id) ?? []).filter((call) => call.reason === reason);
    const [first] = calls;
    if (!first) continue;
    // An approval is for one call; the others get their turn after it.
    const shown = reason === "approval" ? [first] : calls;
    const bare = shown.map(({ reason: _, why: _why, hash: _hash, definition: _definition, ...call }) => call);
    const { why, hash, definition } = first;
    return made(reason, { why, calls: bare, ...hash && { hash }, ...definition && { definition } });
  }
  if (stopped !== undefined) return made("waiting", { why: stopped, calls: [] });
  const after = state.options.pause_after?.filter((id) => isEnded(state, id) && !state.passed.has(id)) ?? [];
  if (after.length > 0) {
    return made("after", { why: `${after.join(", ")} came to an end`, calls: after.map((task) => ({ task })) });
  }
  const layer = state.layers - 1;
  return made("layer", { why: `layer ${layer + 1} of ${layers} is finished`, calls: [], layer });
}

/** The pause of a run that came out of a backup: what it did after the backup was made, its journal does not say. */
export function restoredPending(state: RunState): Pending {
  const doubtful = [...state.tasks.values()].filter(({ status }) => status === "in_doubt");
  const why = doubtful.length > 0
    ? "it comes out of a backup; say of each task what became of it (resolve), then continue"
    : "it comes out of a backup; what it did after that is not known. continue does the rest";
  return made("restored", { why, calls: doubtful.flatMap(({ id }) => doubtfulCalls(state, id)) });
}

const FOR_HUMANS: ReadonlySet<PauseReason> = new Set(["approval", "question", "sign_in", "restored"]);

function made(reason: PauseReason, more: Pick<Pending, "why" | "calls" | "hash" | "definition" | "layer">): Pending {
  const isForHuman = FOR_HUMANS.has(reason);
  return { reason, for: isForHuman ? "human" : "agent", ...more, choices: CHOICES[reason] };
}

/** The calls that may or may not have happened: that of a task, or those of its code; the one to be decided first leads. */
function doubtfulCalls({ plan, tasks }: RunState, id: string): WaitingCall[] {
  const task = plan.find((candidate) => candidate.id === id);
  if (!task) return [{ task: id }];
  return kindOf(task).doubtful(task, tasks.get(id)!).map((call) => ({ task: id, ...call }));
}

function isEnded({ tasks }: RunState, id: string): boolean {
  const status = tasks.get(id)?.status;
  return status !== undefined && status !== "waiting" && status !== "running";
}

/** The summary that lists of runs show. */
export function summaryOf({ tasks, pending, activeMs, error }: RunState): JsonObject {
  const all = [...tasks.values()];
  return {
    tasks: all.length,
    succeeded: all.filter(({ status }) => status === "success").length,
    ms: Math.round(activeMs),
    ...pending && { pending: { reason: pending.reason, for: pending.for, ...waitingFor(pending) } },
    ...error !== undefined && { error },
  };
}

function waitingFor({ calls: [first], hash }: Pending): JsonObject {
  return {
    ...first && { task: first.task },
    ...first?.tool !== undefined && { tool: first.tool },
    ...hash !== undefined && { hash },
  };
}
