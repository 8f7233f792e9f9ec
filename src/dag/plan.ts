import { z } from "../../deps.ts";
import { AgentCardsError, messageOf } from "../model/errors.ts";
import { parseMeaning } from "../model/coerce.ts";
import { deepFreeze, isObject, type JsonObject } from "../model/json.ts";
import { nearest, oneLine } from "../model/text.ts";
import { isTaskId, referencesIn } from "./references.ts";
import type { CodeTask, Plan, PlannedTask, Task } from "./task.ts";

export interface PlanOptions {
  readonly maxTasks: number;
  /** What is wrong with a task itself: an unknown tool, arguments that its schema does not allow. */
  check(task: Task): readonly string[];
}

const LONGEST_TIMEOUT = 86_400_000;
const common = {
  id: z.string(),
  depends_on: z.array(z.string()).max(10_000).optional(),
  side_effects: z.boolean().optional(),
  timeout_ms: z.number().int().min(1).max(LONGEST_TIMEOUT).optional(),
  retries: z.number().int().min(0).max(10).optional(),
};
const toolTask = z.strictObject({
  ...common,
  type: z.literal("tool").optional(),
  tool: z.string().min(1).max(256),
  arguments: z.record(z.string(), z.unknown()).optional(),
});
const codeTask = z.strictObject({
  ...common,
  type: z.literal("code_execution").default("code_execution"),
  code: z.string().min(1).max(256 * 1024),
  context: z.record(z.string(), z.unknown()).optional(),
  intent: z.string().max(2_000).optional(),
  sandbox_config: z.strictObject({
    timeout: z.number().int().min(1).max(LONGEST_TIMEOUT).optional(),
    memoryLimit: z.number().int().min(1).optional(),
  }).optional(),
});

/** How many problems one error names; the rest is counted. */
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
  const tasks = read.map((task) => task.type === "code_execution" ? withSpokenOf(task, ids, problems) : task);
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
  });
}

const named = (id: string) => (problem: string) => `task ${id}: ${problem}`;

function readTask(entry: unknown, place: number, problems: string[]): Task | undefined {
  const raw = entry as { id?: unknown; type?: unknown } | null;
  const label = typeof raw?.id === "string" && isTaskId(raw.id) ? `task ${raw.id}` : `task number ${place + 1}`;
  const isCode = raw?.type === "code_execution" || raw?.type === "code" ||
    (raw?.type === undefined && isObject(entry) && "code" in entry);
  if (raw?.type === "code") return readTask({ ...entry as object, type: "code_execution" }, place, problems);
  const schema = isCode ? codeTask : toolTask;
  const parsed = isCode ? parseMeaning(codeTask, entry) : parseMeaning(toolTask, entry);
  if (!parsed.success) {
    const { issues } = parsed.error;
    const wrong = issues.slice(0, SHOWN_OF_A_TASK).map((issue) => problemText(issue));
    const more = issues.length > SHOWN_OF_A_TASK ? `, and ${issues.length - SHOWN_OF_A_TASK} more` : "";
    const known = Object.keys(schema.shape).join(", ");
    problems.push(
      `${label}: ${wrong.join(", ")}${more}. A ${isCode ? "code" : "tool"} task has ${known}; ${
        isCode ? CODE_EXAMPLE : TOOL_EXAMPLE
      }`,
    );
    return;
  }
  const { id, depends_on = [] } = parsed.data;
  if (!isTaskId(id)) {
    problems.push(
      `${label}: an id is 1 to 64 letters, digits, _ or -, and no word of the language such as constructor`,
    );
    return;
  }
  try {
    // What a task refers to, it waits for.
    const referred = referencesIn("tool" in parsed.data ? parsed.data.arguments : parsed.data.context)
      .flatMap((reference) => reference.kind === "output" ? [reference.id] : []);
    const all = [...new Set([...depends_on, ...referred])];
    return "tool" in parsed.data
      ? {
        ...parsed.data,
        type: "tool",
        arguments: (parsed.data.arguments ?? {}) as JsonObject,
        depends_on: all,
      } as Task
      : { ...parsed.data, depends_on: all } as Task;
  } catch (error) {
    problems.push(`${label}: ${messageOf(error)}`);
  }
}

const TOOL_EXAMPLE = 'for example {"id": "a", "tool": "server:tool", "arguments": {"x": "$OUTPUT[b].y"}}';
const CODE_EXAMPLE =
  'for example {"id": "sum", "type": "code_execution", "code": "return deps.a.output.length", "depends_on": ["a"]}';

const KEYS = [...new Set([...Object.keys(toolTask.shape), ...Object.keys(codeTask.shape)])];
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

const SPOKEN_OF = /\bdeps(?:\.([A-Za-z_]\w*)|\?\.([A-Za-z_]\w*)|\[["']([\w-]{1,64})["']\])/g;

/** Code waits for the tasks that it speaks of as `deps.ID`, as a reference makes a tool task wait. */
function withSpokenOf(task: CodeTask, ids: ReadonlySet<string>, problems: string[]): CodeTask {
  const misplaced = [...task.code.matchAll(/(?<!\$)\$OUTPUT\[([\w-]{1,64})\]/g)].map(([, id]) => id!).find((id) =>
    ids.has(id)
  );
  if (misplaced !== undefined) {
    problems.push(`task ${task.id}: $OUTPUT is for arguments; code reads deps.${misplaced}.output`);
  }
  const spoken = [...task.code.matchAll(SPOKEN_OF)].map(([, dotted, optional, quoted]) => dotted ?? optional ?? quoted!)
    .filter((id) => ids.has(id) && id !== task.id);
  const depends_on = [...new Set([...task.depends_on, ...spoken])];
  return depends_on.length === task.depends_on.length ? task : { ...task, depends_on };
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
