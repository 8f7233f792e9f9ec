import { messageOf, oneLine } from "../../model/mod.ts";
import { conditionOf, namedIn } from "./conditions.ts";
import type { SkipCause } from "../event.ts";
import { dependenciesOf, type LoadStored } from "../inputs.ts";
import { kindOf } from "../kinds/all.ts";
import type { TaskResult } from "../run_port.ts";
import type { RunState } from "../run_state.ts";
import type { Task } from "../task.ts";

/** The verdict on a task once the tasks that it waits for have settled. */
export type Readiness =
  | { readonly kind: "go" }
  | { readonly kind: "skip"; readonly why: string; readonly because: SkipCause }
  | { readonly kind: "fail"; readonly error: string };

const GO: Readiness = { kind: "go" };

/** Nothing has to be waited for unless the task has a condition. */
export function readinessOf(task: Task, state: RunState, load: LoadStored): Readiness | Promise<Readiness> {
  const named = namedIn(task);
  const failed = !kindOf(task).takesFailures &&
    task.depends_on.find((id) => !named.has(id) && state.tasks.get(id)?.status !== "success");
  if (failed) return { kind: "skip", because: "need", why: `it needs ${failed}, which did not succeed` };
  return task.when === undefined ? GO : judged(task.when, state, load);
}

async function judged(when: string, { tasks, options }: RunState, load: LoadStored): Promise<Readiness> {
  try {
    const condition = conditionOf(when, "when");
    const deps = await dependenciesOf([...condition.names], tasks, load);
    if (condition.holds({ deps, input: options.input ?? {} })) return GO;
    return { kind: "skip", because: "when", why: `its condition was false: ${oneLine(when, 200)}` };
  } catch (error) {
    return { kind: "fail", error: messageOf(error) };
  }
}

/** True if the call that was made now was the last one that the task may make. */
export function isLastPoll(task: Task, { tasks }: RunState): boolean {
  const times = task.type === "tool" && task.until ? task.until.times : 1;
  return (tasks.get(task.id)?.polls ?? 0) + 1 >= times;
}

/** The result of one call of a task that is repeated until a condition holds. */
export async function polled(
  task: Task,
  result: TaskResult,
  { options }: RunState,
  load: LoadStored,
): Promise<TaskResult> {
  const until = task.type === "tool" ? task.until : undefined;
  if (!until || !result.ok) return result;
  try {
    const { output: given } = result;
    const output = given.kind === "value"
      ? given.value
      : (await load(given.handle, [{ steps: given.steps, named: "output" }]))[0]!;
    if (conditionOf(until.when, "until").holds({ output, input: options.input ?? {} })) return result;
    return { ok: false, kind: "not_yet", error: `not yet: ${oneLine(until.when, 200)}` };
  } catch (error) {
    return { ok: false, kind: "failed", error: messageOf(error) };
  }
}
