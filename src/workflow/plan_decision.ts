import { type Planning, planTasks } from "../call/mod.ts";
import { type Plan, type RunState, withInput } from "../dag/mod.ts";
import { AgentCardsError, oneLine } from "../model/mod.ts";
import { replacedIn, type Request } from "./decisions.ts";

/** The plan that tasks of a decision make with those that are there already; none where it brings no tasks. */
export async function planDecision(request: Request, planning: Planning, state: RunState): Promise<Plan | undefined> {
  const { action, tasks } = request;
  if (action !== "inject" && action !== "replace") return undefined;
  const given = action === "replace" ? replacedIn(request) : new Set<string>();
  const unknown = [...given].find((id) => !state.tasks.has(id));
  if (unknown !== undefined) {
    throw new AgentCardsError("RUN_STATE", `Task ${oneLine(unknown, 64)} is not in the run`, {
      hint: "replace gives tasks of the run another definition; inject adds tasks.",
    });
  }
  return await planTasks(
    withInput(tasks, state.options.input),
    planning,
    state.plan.filter(({ id }) => !given.has(id)),
  );
}
