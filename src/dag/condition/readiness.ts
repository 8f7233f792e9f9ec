import { messageOf, oneLine } from "../../model/mod.ts";
import { type Condition, conditionOf, namedIn } from "./conditions.ts";
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
    const context = { deps, input: options.input ?? {} };
    if (condition.holds(context)) return GO;
    return { kind: "skip", because: "when", why: `its condition was false: ${withAbsent(when, condition, context)}` };
  } catch (error) {
    return { kind: "fail", error: messageOf(error) };
  }
}

/** A condition with the place in it that is not there, which its author may not know. */
function withAbsent(text: string, condition: Condition, context: Readonly<Record<string, unknown>>): string {
  const absent = condition.absent(context);
  return oneLine(text, 200) + (absent === undefined ? "" : ` (${absent})`);
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
    const condition = conditionOf(until.when, "until");
    const context = { output, input: options.input ?? {} };
    if (!condition.holds(context)) {
      return { ok: false, kind: "not_yet", error: `not yet: ${withAbsent(until.when, condition, context)}` };
    }
    const absent = condition.absent(context);
    return absent === undefined ? result : { ...result, note: `The condition of until holds, but ${absent}.` };
  } catch (error) {
    return { ok: false, kind: "failed", error: messageOf(error) };
  }
}
