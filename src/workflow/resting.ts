import type { RunRow, RunState } from "../dag/mod.ts";
import { AgentCardsError, oneLine } from "../model/mod.ts";
import { fs } from "../platform/start.ts";
import type { Decider } from "./decider.ts";

/** A run whose runner is gone rests, too: it waits for somebody to go on with it. */
export function restingState(state: RunState): RunState {
  if (state.status !== "running") return state;
  const why = "its engine stopped; it goes on when its folder is connected, or by continue";
  return {
    ...state,
    status: "paused",
    pending: { reason: "waiting", for: "agent", why, calls: [], choices: ["continue", "abort"] },
  };
}

/** True if a run rests without a row about it, because its runner is gone. */
export function isResting({ status, isHeld }: RunRow): boolean {
  return status === "running" && !isHeld;
}

export function unknownRun(id: string): AgentCardsError {
  return new AgentCardsError("RUN_UNKNOWN", `There is no run "${oneLine(id, 60)}"`, {
    hint:
      'resume_workflow {"action": "status"} and `agentcards runs` list them; old ones that are over are forgotten after a while.',
  });
}

/** An agent minds the runs of its own folder: what runs elsewhere has other servers and other rights. */
export function checkFolder(id: string, cwd: string, { by, session }: Decider): void {
  if (by === "agent" && cwd !== session.cwd) throw elsewhere(id, { cwd });
}

/** Refuses to go on with a run whose folder is gone: every server would fail to start, and the run for good. */
export async function requireFolder({ id, cwd }: RunRow): Promise<void> {
  const info = await fs.stat(cwd).catch(() => undefined);
  if (info?.isDirectory) return;
  throw new AgentCardsError("RUN_STATE", `${id} cannot go on: its folder ${cwd} is not there`, {
    hint: "Bring the folder back, or abort the run.",
  });
}

export function elsewhere(id: string, { cwd, variables = [] }: { cwd: string; variables?: readonly string[] }) {
  const needed = variables.length > 0 ? ` It needs ${variables.join(", ")} in the environment.` : "";
  return new AgentCardsError("RUN_STATE", `${id} belongs to the folder ${cwd}`, {
    hint: `Go on with it from there.${needed}`,
  });
}

/** The error of a decision about a run that another engine is running. */
export function runsElsewhere({ id, host }: RunRow): AgentCardsError {
  const where = host === null ? "in another engine" : `in another engine, on ${host}`;
  return new AgentCardsError("RUN_STATE", `${id} runs ${where}`, {
    hint: "Its status can be asked for here; decide about it there, or here once it waits.",
  });
}

/** The error of an approval whose call in the store is not the one that was asked for. */
export function forged(id: string): AgentCardsError {
  return new AgentCardsError("RUN_STATE", `What ${id} shows is not what it asked for: its journal was edited`, {
    hint: "Abort the run.",
  });
}

/** The error of an agent that would decide about a run out of a backup. */
export function onlyHumansRestore(id: string): AgentCardsError {
  return new AgentCardsError("TOOL_DENIED", `${id} came out of a backup; only a human can go on with it`, {
    hint:
      `Ask the user to run \`agentcards runs show ${id}\`, then \`runs resolve\` and \`runs resume\`, in a terminal.`,
  });
}

export function over(id: string, { status }: RunState): AgentCardsError {
  const hint = status === "completed"
    ? "Everything has succeeded. Run a new workflow for what else is wanted."
    : "retry runs what failed again, replace and inject correct it, resolve decides a doubt.";
  return new AgentCardsError("RUN_STATE", `${id} is over: ${status}`, { hint });
}

export function tooLate(id: string): AgentCardsError {
  return new AgentCardsError("RUN_TAKEN", `Somebody else has decided about ${id} meanwhile`, {
    hint: "Its status says what came of it.",
  });
}

/** A run out of a backup takes a word on each doubt, then `continue`; nothing else before that. */
export function requireRestoring(id: string, action: string, { tasks }: RunState): void {
  const doubtful = [...tasks.values()].filter(({ status }) => status === "in_doubt").map((task) => task.id);
  if (action === "resolve" && doubtful.length > 0) return;
  if (action === "continue" && doubtful.length === 0) return;
  const why = doubtful.length > 0 ? `resolve ${doubtful.slice(0, 10).join(", ")} first` : "continue goes on with it";
  throw new AgentCardsError("RUN_STATE", `${id} cannot take "${action}": it came out of a backup; ${why}`, {
    hint: doubtful.length > 0
      ? `\`agentcards resolve ${id} --task ${doubtful[0]} --outcome done|retry|skip\` says what became of the call.`
      : `\`agentcards runs resume ${id}\` goes on with it.`,
  });
}
