import type { Random } from "../model/random.ts";

export type Kind = "read" | "idempotent" | "effectful";

/** A task of a drawn workflow, as run_workflow takes it. */
export interface DagTask {
  readonly id: string;
  readonly tool: string;
  readonly arguments: { readonly task: string; readonly ms: number; readonly characters?: number };
  readonly depends_on: readonly string[];
}

export interface DagOptions {
  /** The fewest and the most tasks, and milliseconds of each. */
  readonly tasks: readonly [number, number];
  readonly ms: readonly [number, number];
  /** What the tasks are, in equal parts. */
  readonly kinds: readonly Kind[];
  /** Stands before the names under which the tools are told of tasks. */
  readonly prefix?: string;
}

const TOOLS: Readonly<Record<Kind, string>> = {
  read: "worker:get_item",
  idempotent: "worker:put_item",
  effectful: "worker:send_item",
};
const MOST_PARENTS = 3;

/** Tasks with 0 to 3 earlier parents each, drawn uniformly. */
export function randomDag(random: Random, { tasks, ms, kinds, prefix = "" }: DagOptions): DagTask[] {
  const count = between(random, tasks);
  const drawn = shuffled(random, Array.from({ length: count }, (_, i) => kinds[i % kinds.length]!));
  return drawn.map((kind, i): DagTask => ({
    id: `t${i}`,
    tool: TOOLS[kind],
    arguments: { task: `${prefix}t${i}`, ms: between(random, ms) },
    depends_on: parents(random, i).map((parent) => `t${parent}`),
  }));
}

export function toolFor(kind: Kind): string {
  return TOOLS[kind];
}

export function kindOf({ tool }: Pick<DagTask, "tool">): Kind {
  return (Object.keys(TOOLS) as Kind[]).find((kind) => TOOLS[kind] === tool)!;
}

function parents(random: Random, before: number): number[] {
  const wanted = Math.min(random.below(MOST_PARENTS + 1), before);
  const found = new Set<number>();
  while (found.size < wanted) found.add(random.below(before));
  return [...found];
}

export function between(random: Random, [least, most]: readonly [number, number]): number {
  return least + random.below(most - least + 1);
}

export function shuffled<T>(random: Random, values: T[]): T[] {
  for (let i = values.length - 1; i > 0; i--) {
    const other = random.below(i + 1);
    [values[i], values[other]] = [values[other]!, values[i]!];
  }
  return values;
}

/** How long the path takes that takes longest by the durations given. */
export function criticalPath(tasks: readonly DagTask[], ms: ReadonlyMap<string, number>): number {
  const ends = new Map<string, number>();
  for (const { id, depends_on } of tasks) {
    ends.set(id, Math.max(0, ...depends_on.map((parent) => ends.get(parent)!)) + ms.get(id)!);
  }
  return Math.max(...ends.values());
}
