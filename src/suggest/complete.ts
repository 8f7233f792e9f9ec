import { isObject, type JsonObject, type Tool } from "../model/mod.ts";
import { type Hints, reference } from "./draft.ts";
import { feeds } from "./english/feeds.ts";
import { inferEdges } from "./english/infer.ts";
import { sketchOf } from "./english/sketch.ts";

/** A required argument that nobody gave, as the output of an earlier task that fits it. */
export interface Inferred {
  readonly task: string;
  readonly parameter: string;
  /** `$OUTPUT[…]` */
  readonly value: string;
  readonly why: string;
}

/** The arguments that tasks lack, as far as earlier outputs fit: those that are sure, and those that a reader must check. */
export interface Completion {
  readonly sure: readonly Inferred[];
  readonly likely: readonly Inferred[];
}

interface Known {
  readonly id: string;
  readonly tool: Tool;
  readonly given: JsonObject;
  readonly task: JsonObject;
}

/** A flow that was learned counts as sure from here on. */
const TRUSTED = 0.7;
const LIKELY = 0.8;

export function completionOf(
  tasks: unknown,
  toolOf: (name: string) => Tool | undefined,
  { flows }: Pick<Hints, "flows">,
): Completion {
  const known = Array.isArray(tasks) ? tasks.flatMap((task) => knownIn(task, toolOf)) : [];
  const found = known.flatMap((target, at) =>
    missingOf(target).flatMap((parameter) => sourceOf(parameter, { target, earlier: known.slice(0, at), flows }) ?? [])
  );
  const told = ({ isSure }: { readonly isSure: boolean }, wanted: boolean) => isSure === wanted;
  const plain = ({ isSure: _, ...inferred }: Inferred & { readonly isSure: boolean }) => inferred;
  return {
    sure: found.filter((one) => told(one, true)).map(plain),
    likely: found.filter((one) => told(one, false)).map(plain),
  };
}

/** Tasks with these arguments filled in. */
export function filledIn(tasks: readonly unknown[], inferred: readonly Inferred[]): unknown[] {
  return tasks.map((task) => {
    const mine = isObject(task) ? inferred.filter((one) => one.task === task.id) : [];
    if (!isObject(task) || mine.length === 0) return task;
    const given = isObject(task.arguments) ? task.arguments : {};
    const filled = Object.fromEntries(mine.map(({ parameter, value }) => [parameter, value]));
    return { ...task, arguments: { ...given, ...filled } };
  });
}

function knownIn(task: unknown, toolOf: (name: string) => Tool | undefined): Known[] {
  if (!isObject(task) || typeof task.id !== "string" || typeof task.tool !== "string") return [];
  const tool = toolOf(task.tool);
  const given = task.arguments ?? {};
  return tool && isObject(given) ? [{ id: task.id, tool, given: given as JsonObject, task: task as JsonObject }] : [];
}

function missingOf({ tool: { inputSchema }, given }: Known): string[] {
  const { required, properties } = inputSchema;
  const names = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
  return names.filter((name) => !Object.hasOwn(given, name) && isObject(properties) && Object.hasOwn(properties, name));
}

interface Searched {
  readonly target: Known;
  readonly earlier: readonly Known[];
  readonly flows: Hints["flows"];
}

function sourceOf(
  parameter: string,
  { target, earlier, flows }: Searched,
): Inferred & { readonly isSure: boolean } | undefined {
  // What waits for the task itself cannot feed it.
  const sources = earlier.filter(({ task }) => !speaksOf(task, target.id));
  const told = { task: target.id, parameter };
  for (const { id, tool } of sources.toReversed()) {
    const flow = flows(tool.id, target.tool.id).find((one) => one.parameter === parameter && one.trust >= TRUSTED);
    if (flow) return { ...told, value: reference(id, flow.path), why: `${tool.id} gave it before`, isSure: true };
  }
  const wanted = sketchOf(target.tool);
  const fitting = sources.flatMap(({ id, tool }) =>
    feeds(sketchOf(tool), wanted).filter((one) => one.parameter === parameter).map(({ path }) => ({ id, tool, path }))
  );
  const nearest = fitting.at(-1);
  if (nearest) {
    const { id, tool, path } = nearest;
    const isSure = fitting.length === 1 && !path.includes("[]");
    return { ...told, value: reference(id, path), why: `${tool.id} gives ${path}`, isSure };
  }
  const calls = [...sources, target].map(({ tool, given }) => ({ tool: sketchOf(tool), given }));
  const edge = inferEdges("", calls).find((one) =>
    one.to === sources.length && one.parameter === parameter && one.confidence >= LIKELY
  );
  if (!edge || edge.output === "") return undefined;
  return { ...told, value: reference(sources[edge.from]!.id, edge.output), why: edge.why, isSure: false };
}

function speaksOf(task: JsonObject, id: string): boolean {
  const after = Array.isArray(task.depends_on) && task.depends_on.includes(id);
  return after || JSON.stringify(task.arguments ?? {}).includes(`$OUTPUT[${id}]`);
}
