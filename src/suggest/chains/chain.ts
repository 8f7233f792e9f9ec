import { escapeReferences } from "../../dag/mod.ts";
import { canonicalJson, type Json, type JsonObject, splitToolId } from "../../model/mod.ts";
import type { Remembered } from "../../graphrag/mod.ts";

type PathStep = string | number;

/** An argument of a call of a chain: said anew, or a value that an earlier call of the chain gave. */
export type ChainValue =
  | { readonly kind: "said"; readonly value: Json; readonly varies: boolean }
  | { readonly kind: "flow"; readonly from: number; readonly path: readonly PathStep[] };

export interface ChainStep {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, ChainValue>>;
}

/** Calls of one conversation, each of which takes a value from one before it. */
export interface OpenChain {
  readonly steps: readonly ChainStep[];
  /** The results of its calls. */
  readonly leaves: readonly (NonNullable<Remembered["leaves"]>)[];
  /** The number of calls since it grew. */
  idle: number;
}

/** Longer work is rarely the same twice. */
const MOST_STEPS = 6;
const SHORTEST = 4;
const SMALLEST = 100;

export function beginChain({ tool, arguments: args, leaves = [] }: Remembered): OpenChain {
  return { steps: [{ tool, arguments: said(args) }], leaves: [leaves], idle: 0 };
}

/** The chain with one more call, if the call takes a value from it; the same chain for one more item of a list. */
export function grown(chain: OpenChain, { tool, arguments: args, leaves = [] }: Remembered): OpenChain | undefined {
  const values: Record<string, ChainValue> = {};
  let flows = 0;
  for (const [name, value] of Object.entries(args)) {
    const flow = flowOf(value, chain);
    if (flow) flows++;
    values[name] = flow ?? { kind: "said", value, varies: false };
  }
  if (flows === 0) return undefined;
  const step = { tool, arguments: values };
  const isAgain = chain.steps.some((one) => formOf(one, true) === formOf(step, true));
  if (isAgain || chain.steps.length >= MOST_STEPS) return chain;
  return { steps: [...chain.steps, step], leaves: [...chain.leaves, leaves], idle: 0 };
}

function said(args: JsonObject): ChainStep["arguments"] {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, { kind: "said", value, varies: false }]),
  );
}

/** The newest result that tells a value, and where. A short value may be the same by chance. */
function flowOf(value: Json, { leaves }: OpenChain): ChainValue | undefined {
  const isTelling = typeof value === "string"
    ? value.length >= SHORTEST
    : typeof value === "number" && Math.abs(value) >= SMALLEST;
  if (!isTelling) return undefined;
  for (let from = leaves.length - 1; from >= 0; from--) {
    const found = leaves[from]!.find((leaf) => leaf.value === value);
    if (found) return { kind: "flow", from, path: found.path };
  }
}

/** The parts of a chain that are the same each time it comes back: its tools, and the values between them. */
export function formOfChain(steps: readonly ChainStep[]): string {
  return canonicalJson(steps.map((step) => formOf(step, false)));
}

function formOf({ tool, arguments: values }: ChainStep, isAnyItem: boolean): string {
  return canonicalJson([
    tool,
    Object.entries(values).map(([name, value]) => [
      name,
      value.kind === "said"
        ? ""
        : [value.from, value.path.map((step) => isAnyItem && typeof step === "number" ? "[]" : step)],
    ]).toSorted(([a], [b]) => String(a) < String(b) ? -1 : 1) as Json,
  ]);
}

/** The steps of a chain that came back: values that were not the same both times vary. */
export function withVariation(known: readonly ChainStep[], now: readonly ChainStep[]): ChainStep[] {
  return now.map((step, i) => ({
    tool: step.tool,
    arguments: Object.fromEntries(
      Object.entries(step.arguments).map(([name, value]) => {
        const before = known[i]?.arguments[name];
        if (value.kind !== "said" || before?.kind !== "said") return [name, value];
        const varies = before.varies || canonicalJson(before.value) !== canonicalJson(value.value);
        return [name, { ...value, varies }];
      }),
    ),
  }));
}

/** A chain as tasks of a workflow, with the arguments that have to be said anew: `task.argument`. */
export function tasksOf(steps: readonly ChainStep[]): {
  readonly tasks: readonly { readonly id: string; readonly tool: string; readonly arguments: JsonObject }[];
  readonly said: readonly string[];
} {
  const ids = idsOf(steps);
  const tasks = steps.map(({ tool, arguments: values }, i) => ({
    id: ids[i]!,
    tool,
    arguments: Object.fromEntries(
      Object.entries(values).map(([name, value]): [string, Json] => [
        name,
        value.kind === "said"
          ? escapeReferences(value.value)
          : `$OUTPUT[${ids[value.from]!}]${value.path.map(accessText).join("")}`,
      ]),
    ),
  }));
  const varying = steps.flatMap(({ arguments: values }, i) =>
    Object.entries(values).flatMap(([name, value]) =>
      value.kind === "said" && value.varies ? [`${ids[i]!}.${name}`] : []
    )
  );
  return { tasks, said: varying };
}

/** True if every value that varies can be a parameter: lists and objects cannot. */
export function canBeSaid(steps: readonly ChainStep[]): boolean {
  return steps.every(({ arguments: values }) =>
    Object.values(values).every((value) =>
      value.kind === "flow" || !value.varies || typeof value.value !== "object" || value.value === null
    )
  );
}

function idsOf(steps: readonly ChainStep[]): string[] {
  const used = new Map<string, number>();
  return steps.map(({ tool }) => {
    const name = splitToolId(tool).name.replace(/[^\w-]/g, "_");
    const count = (used.get(name) ?? 0) + 1;
    used.set(name, count);
    return count === 1 ? name : `${name}_${count}`;
  });
}

function accessText(step: PathStep): string {
  if (typeof step === "number") return `[${step}]`;
  return /^[A-Za-z_]\w*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
}
