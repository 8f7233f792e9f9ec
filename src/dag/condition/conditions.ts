import { isObject, messageOf } from "../../model/mod.ts";

/**
 * The place where a condition stands: `when` of a task reads `deps`, `until` reads `output`, both read `input`; that of a
 * trigger reads `event`, that of a route `task`.
 */
export type Scope = "when" | "until" | "event" | "task" | Supervised;

/** The subject of a supervisor, and the variable by which its condition reads it. */
export type Supervised = "run" | "project" | "system";

/** A condition of a task, in CEL. */
export interface Condition {
  /** The tasks that it names. */
  readonly names: ReadonlySet<string>;
  /** True if it holds; throws where it cannot be evaluated, or gives neither true nor false. */
  holds(context: Readonly<Record<string, unknown>>): boolean;
  /** A place that it reads and that is not there, with what is there instead; undefined where all are there. */
  absent(context: Readonly<Record<string, unknown>>): string | undefined;
}

type Compile = (text: string, scope: Scope) => Condition;

let compile: Compile | undefined;
/** The conditions of the last workflows: a run reads each of its own once per evaluation. */
const compiled = new Map<string, Condition>();
const MOST_COMPILED = 1_000;

/** Loads the language of conditions where one of these tasks has a condition. */
export async function loadConditions(tasks: unknown): Promise<void> {
  if (
    compile || !Array.isArray(tasks) || !tasks.some((task) => isObject(task) && ("when" in task || "until" in task))
  ) {
    return;
  }
  ({ compile } = await import("./cel.ts"));
}

/** The condition that a text says; `loadConditions` was awaited before. */
export function conditionOf(text: string, scope: Scope): Condition {
  if (!compile) throw new TypeError("loadConditions has not been awaited");
  const key = `${scope} ${text}`;
  const known = compiled.get(key);
  if (known) return known;
  const made = compile(text, scope);
  if (compiled.size >= MOST_COMPILED) compiled.delete(compiled.keys().next().value!);
  compiled.set(key, made);
  return made;
}

/** The condition of a trigger over a hook's event; `loadConditions` was awaited before. */
export function eventCondition(text: string): (event: unknown) => boolean {
  const condition = conditionOf(text, "event");
  return (event) => condition.holds({ event });
}

/** The condition of a route over an agent task. */
export async function taskCondition(text: string): Promise<(task: unknown) => boolean> {
  ({ compile } = await import("./cel.ts"));
  const condition = conditionOf(text, "task");
  return (task) => condition.holds({ task });
}

/** The condition of a supervisor over what it looks at. */
export async function supervisorCondition(text: string, scope: Supervised): Promise<(facts: unknown) => boolean> {
  ({ compile } = await import("./cel.ts"));
  const condition = conditionOf(text, scope);
  return (facts) => condition.holds({ [scope]: facts });
}

/** The tasks that the `when` of a task names: it waits until they have settled, whatever their end. */
export function namedIn({ when }: { readonly when?: string }): ReadonlySet<string> {
  return when === undefined ? NONE : conditionOf(when, "when").names;
}

const NONE: ReadonlySet<string> = new Set();

/** The reason why a text is no condition; undefined where it is one. */
export function conditionProblem(text: string, scope: Scope): string | undefined {
  try {
    conditionOf(text, scope);
  } catch (error) {
    return messageOf(error);
  }
}
