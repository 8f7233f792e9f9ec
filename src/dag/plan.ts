import { AgentCardsError, deepFreeze, isObject, messageOf, nearest, oneLine, parseMeaning } from "../model/mod.ts";
import type { z } from "../../deps.ts";
import { conditionProblem, namedIn } from "./condition/conditions.ts";
import { isTaskId, referencesIn } from "./references.ts";
import { kindOf, KINDS } from "./kinds/all.ts";
import type { Plan, PlannedTask, Task } from "./task.ts";

export interface PlanOptions {
  readonly maxTasks: number;
  /** The problems of a task itself: an unknown tool, arguments that its schema does not allow. */
  check(task: Task): readonly string[];
}

/** The number of problems that one error names; the rest is counted. */
const SHOWN_PROBLEMS = 20;
const SHOWN_OF_A_TASK = 5;

/** Tasks as they were sent become a frozen plan, or one error that names every problem. */
export function plan(given: unknown, options: PlanOptions): Plan {
  if (!Array.isArray(given) || given.length === 0) {
    throw new AgentCardsError("PLAN_INVALID", "tasks must be a list with at least one task");
  }
  requireFewTasks(given.length, options.maxTasks);
  const problems: string[] = [];
  const read = given.flatMap((entry, i) => readTask(entry, i, problems) ?? []);
  const ids = new Set(read.map(({ id }) => id));
  const tasks = read.map((task) => withNamed(kindOf(task).linked(task, ids, problems), problems));
  const add = (more: readonly string[]) => more.forEach((problem) => problems.push(problem));
  add(repeated(tasks));
  for (const task of tasks) add(options.check(task).map(named(task.id)));
  const places = new Map(tasks.map(({ id }, place) => [id, place]));
  for (const task of tasks) add(danglingIn(task, places, problems.length < SHOWN_PROBLEMS));
  const { needs, order } = ordered(tasks, places);
  if (order.length < tasks.length) problems.push(circle(tasks, needs, order));
  if (problems.length > 0) throw invalid(problems);
  return deepFreeze(placed(tasks, needs, order));
}

/** A task waits for the tasks that its condition names. */
function withNamed(task: Task, problems: string[]): Task {
  const until = task.type === "tool" ? task.until : undefined;
  const wrong = [
    ...task.when === undefined ? [] : [conditionProblem(task.when, "when")],
    ...until === undefined ? [] : [conditionProblem(until.when, "until")],
  ].filter((problem) => problem !== undefined);
  if (until && task.approve) wrong.push("until repeats a call, so approve does not go with it");
  problems.push(...wrong.map(named(task.id)));
  if (wrong.length > 0) return task;
  return { ...task, depends_on: [...new Set([...task.depends_on, ...namedIn(task)])] };
}

/** Throws where there are more tasks than a run may have. */
export function requireFewTasks(count: number, most: number): void {
  if (count <= most) return;
  throw new AgentCardsError("PLAN_INVALID", `There are ${count} tasks; the most is ${most}`, {
    hint: "Do part of it in another run, or raise limits.tasks.",
  });
}

/** The plan of tasks that were planned before: what was checked then is not checked again. */
export function planAgain(tasks: readonly Task[]): Plan {
  const { needs, order } = ordered(tasks, new Map(tasks.map(({ id }, place) => [id, place])));
  if (order.length < tasks.length) throw invalid([circle(tasks, needs, order)]);
  return placed(tasks, needs, order);
}

function ordered(tasks: readonly Task[], places: ReadonlyMap<string, number>) {
  const needs = tasks.map(({ depends_on }) => depends_on.flatMap((id) => places.get(id) ?? []));
  return { needs, order: sorted(needs) };
}

function invalid(problems: readonly string[]): AgentCardsError {
  const shown = [...new Set(problems)].slice(0, SHOWN_PROBLEMS);
  const more = problems.length > shown.length ? `; and ${problems.length - shown.length} more` : "";
  return new AgentCardsError("PLAN_INVALID", `The tasks cannot be run: ${shown.join("; ")}${more}`, {
    hint: "Nothing was run. Correct the tasks and send them again.",
    data: { problems: shown },
  });
}

const named = (id: string) => (problem: string) => `task ${id}: ${problem}`;

/** The type that an entry means, where it is a known one. */
function typeOf(entry: unknown): Task["type"] | undefined {
  if (!isObject(entry)) return "tool";
  const { type } = entry;
  if (type === undefined) return "code" in entry ? "code_execution" : "agent" in entry ? "agent" : "tool";
  if (type === "code") return "code_execution";
  return typeof type === "string" && Object.hasOwn(KINDS, type) ? type as Task["type"] : undefined;
}

function readTask(entry: unknown, place: number, problems: string[]): Task | undefined {
  const raw = entry as { id?: unknown; type?: unknown } | null;
  const label = typeof raw?.id === "string" && isTaskId(raw.id) ? `task ${raw.id}` : `task number ${place + 1}`;
  const type = typeOf(entry) ?? "tool";
  const { form, word, example } = KINDS[type];
  const parsed = parseMeaning(form, isObject(entry) && raw?.type === "code" ? { ...entry, type } : entry);
  if (!parsed.success) {
    const { issues } = parsed.error;
    const wrong = issues.slice(0, SHOWN_OF_A_TASK).map((issue) => problemText(issue));
    const more = issues.length > SHOWN_OF_A_TASK ? `, and ${issues.length - SHOWN_OF_A_TASK} more` : "";
    const known = Object.keys(form.shape).join(", ");
    problems.push(`${label}: ${wrong.join(", ")}${more}. A ${word} task has ${known}; ${example}`);
    return;
  }
  const task = { depends_on: [], ...parsed.data } as unknown as Task;
  if (!isTaskId(task.id)) {
    problems.push(
      `${label}: an id is 1 to 64 letters, digits, _ or -, and no word of the language such as constructor`,
    );
    return;
  }
  try {
    // A task waits for every task that it refers to.
    const referred = referencesIn(kindOf(task).input(task))
      .flatMap((reference) => reference.kind === "output" ? [reference.id] : []);
    return { ...task, depends_on: [...new Set([...task.depends_on, ...referred])] };
  } catch (error) {
    problems.push(`${label}: ${messageOf(error)}`);
  }
}

const KEYS = [...new Set(Object.values(KINDS).flatMap(({ form }) => Object.keys(form.shape)))];
/** Names that are often taken for others. */
const ALIASES: Readonly<Record<string, string>> = {
  args: "arguments",
  params: "arguments",
  input: "arguments",
  after: "depends_on",
  deps: "depends_on",
  needs: "depends_on",
  name: "id",
};

function problemText({ code, path, message, ...rest }: z.core.$ZodIssue): string {
  const place = path.join(".");
  if (code === "unrecognized_keys" && "keys" in rest) {
    return (rest.keys as string[]).map((key) => {
      const near = ALIASES[key] ?? nearest(key, KEYS, 1)[0];
      return `${place && `${place}.`}${oneLine(key, 60)} is not a key of a task${
        near ? `; did you mean ${near}?` : ""
      }`;
    }).join(", ");
  }
  return `${place || "it"}: ${oneLine(message, 200)}`;
}

function repeated(tasks: readonly Task[]): string[] {
  return [...Map.groupBy(tasks, ({ id }) => id)].filter(([, same]) => same.length > 1)
    .map(([id, same]) => `${same.length} tasks are called ${id}`);
}

function danglingIn(task: Task, places: ReadonlyMap<string, number>, isShown: boolean): string[] {
  return task.depends_on.flatMap((id) => {
    if (id === task.id) return [`task ${id} waits for itself`];
    if (places.has(id)) return [];
    const near = isShown && places.size <= 1_000 ? nearest(id, places.keys(), 1)[0] : undefined;
    return [`task ${task.id} waits for ${oneLine(id, 64)}, which is not there${near ? `; did you mean ${near}?` : ""}`];
  });
}

/** Places in an order in which each comes after what it needs; those in a circle are left out. */
function sorted(needs: readonly (readonly number[])[]): number[] {
  const waiting = needs.map((some) => some.length);
  const neededBy = reversed(needs);
  const order = waiting.flatMap((count, place) => count === 0 ? [place] : []);
  for (const place of order) {
    for (const next of neededBy[place]!) if (--waiting[next]! === 0) order.push(next);
  }
  return order;
}

function reversed(needs: readonly (readonly number[])[]): number[][] {
  const neededBy: number[][] = needs.map(() => []);
  needs.forEach((some, place) => some.forEach((need) => neededBy[need]!.push(place)));
  return neededBy;
}

function circle(...given: Parameters<typeof cycle>): string {
  return `they wait for each other: ${cycle(...given).join(" → ")}`;
}

/** One circle among the tasks that could not be put in order, spelt out. */
function cycle(tasks: readonly Task[], needs: readonly (readonly number[])[], order: readonly number[]): string[] {
  const isFree = new Set(order);
  const seen = new Map<number, number>();
  const walk: number[] = [];
  let at = needs.findIndex((_, place) => !isFree.has(place));
  while (!seen.has(at)) {
    seen.set(at, walk.length);
    walk.push(at);
    at = needs[at]!.find((need) => !isFree.has(need))!;
  }
  return [...walk.slice(seen.get(at)), at].map((place) => tasks[place]!.id);
}

function placed(tasks: readonly Task[], needs: readonly (readonly number[])[], order: readonly number[]): Plan {
  const neededBy = reversed(needs);
  const layer = new Array<number>(tasks.length).fill(0);
  const height = new Array<number>(tasks.length).fill(1);
  for (const place of order) for (const need of needs[place]!) layer[place] = Math.max(layer[place]!, layer[need]! + 1);
  for (const place of order.toReversed()) {
    for (const next of neededBy[place]!) height[place] = Math.max(height[place]!, height[next]! + 1);
  }
  const planned = order.map((place): PlannedTask => ({
    task: tasks[place]!,
    layer: layer[place]!,
    height: height[place]!,
  }));
  return { tasks: planned, layers: layer.reduce((most, own) => Math.max(most, own + 1), 0) };
}
