import { type Planning, planTasks } from "../call/mod.ts";
import type { Plan, RunOptions } from "../dag/mod.ts";
import { AgentCardsError, isObject } from "../model/mod.ts";
import { withCheck } from "./undoing/check.ts";
import { filledIn, type Inferred, type Suggestions } from "../suggest/mod.ts";

interface Whole extends Planning {
  readonly complete: Suggestions["complete"];
  readonly wanted: RunOptions;
}

/**
 * Plans tasks. Where one lacks a required argument that an earlier output fits, `infer` fills in what is sure; all else is
 * proposed with the error, and nothing is run.
 */
export async function planWhole(
  sent: unknown,
  { session, book, complete, wanted }: Whole,
): Promise<{ readonly plan: Plan; readonly options: RunOptions }> {
  const tasks = withCheck(sent, wanted);
  const find = () =>
    complete(session, tasks, (name) => {
      const found = book.find(name);
      return "tool" in found ? found.tool : undefined;
    });
  let [given, options] = [tasks, wanted];
  if (wanted.infer && Array.isArray(tasks)) {
    await book.learn(tasks.flatMap((task) => isObject(task) && typeof task.tool === "string" ? [task.tool] : []));
    const { sure } = await find();
    given = filledIn(tasks, sure);
    if (sure.length > 0) options = { ...wanted, inferred: sure };
  }
  try {
    return { plan: await planTasks(given, { session, book }), options };
  } catch (error) {
    if (!(error instanceof AgentCardsError) || error.code !== "PLAN_INVALID" || !Array.isArray(tasks)) throw error;
    const { sure, likely } = await find();
    throw sure.length + likely.length === 0 ? error : proposing(error, { tasks, sure, likely });
  }
}

interface Proposed {
  readonly tasks: readonly unknown[];
  readonly sure: readonly Inferred[];
  readonly likely: readonly Inferred[];
}

/** The same error with the tasks as they may have been meant. */
function proposing({ message, hint, data }: AgentCardsError, { tasks, sure, likely }: Proposed): AgentCardsError {
  const all = [...sure, ...likely];
  const whole = filledIn(tasks, all).filter((task) => isObject(task) && all.some((one) => one.task === task.id));
  const why = all.map(({ task, parameter, value, why }) => `${task}.${parameter} ← ${value}: ${why}`).join("; ");
  const next = likely.length === 0
    ? "Nothing was run. Send the tasks again with it, or as they are with options.infer: true."
    : "Nothing was run. Check it and send the tasks again with it.";
  return new AgentCardsError("PLAN_INVALID", message, {
    hint: [hint, `Completed: ${JSON.stringify(whole)} (${why}). ${next}`].filter(Boolean).join(" "),
    ...data && { data },
  });
}
