// What comes next: the product's habits over streams of calls, against an order-2 Markov model on the same stream; and what
// calls made ahead of being asked for would have gained and wasted.
import { createBudget } from "../../src/graphrag/budget.ts";
import { callName, createForesight } from "../../src/graphrag/foresight.ts";
import { createHabits, type Trail } from "../../src/graphrag/habits.ts";
import { recipeOf, type Remembered } from "../../src/graphrag/recipe.ts";
import { COUNTED_ON, isSure, LIKELY_ARGUMENTS, WASTE } from "../../src/graphrag/rule.ts";
import { isObject, type JsonObject } from "../../src/model/json.ts";
import { terms } from "../../src/model/words.ts";
import { effectOf } from "../../src/policy/effects.ts";
import { createSecondOrder } from "./markov.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";

interface Row {
  readonly source: string;
  readonly query: string;
  readonly nodes: readonly { readonly tool: string; readonly args?: unknown }[];
}

interface Count {
  /** Steps that another one goes before. */
  n: number;
  steps: number;
  top1: number;
  top3: number;
  markov: number;
  /** Calls made ahead where the tool alone had to be foreseen: arguments come out of answers, which streams do not have. */
  ahead: { made: number; used: number };
  /** The same with every argument, as far as the calls before and habit tell it. */
  exact: { made: number; used: number };
}

const nothing = (): Count => ({
  n: 0,
  steps: 0,
  top1: 0,
  top3: 0,
  markov: 0,
  ahead: { made: 0, used: 0 },
  exact: { made: 0, used: 0 },
});

export const evaluation: Evaluation = {
  options: { data: { type: "string" } },
  async run({ data }) {
    if (!data) throw new Error("--data FILE says which calls to stream");
    const rows = (await Deno.readTextFile(data)).trim().split("\n").map((line) => JSON.parse(line) as Row);
    const counts: Record<string, Count> = {};
    const stream = createStream();
    for (const row of rows) stream.take(row, counts[row.source] ??= nothing());
    const { p50, p95 } = quantiles(stream.updates);
    return {
      all: figures(sum(Object.values(counts))),
      sources: mapValues(counts, figures),
      update_ms: { p50, p95 },
    };
  },
};

/** One user's calls, row by row, each predicted before it is learned. */
function createStream() {
  const [habits, foresight, markov] = [createHabits(), createForesight(), createSecondOrder()];
  const budgets = { ahead: createBudget(WASTE), exact: createBudget(WASTE) };

  function risk(kind: "ahead" | "exact", count: Count, used: boolean): void {
    if (!budgets[kind].allows(1)) return;
    budgets[kind].risk(1)({ used, ms: 1 });
    count[kind].made++;
    count[kind].used += Number(used);
  }

  /** How long learning from each call took. */
  const updates: number[] = [];

  function take({ query, nodes }: Row, count: Count): void {
    const steps: Remembered[] = [];
    const trail: Trail = { request: new Set(terms(query)), steps };
    for (const { tool, args } of nodes) {
      const given = argumentsOf(args);
      const step = { tool, call: callName(tool, given) ?? "", arguments: given };
      const before = steps.map((one) => one.tool);
      count.steps++;
      if (steps.length > 0) {
        const likely = habits.predict(trail, 3);
        const [first] = likely;
        count.n++;
        count.top1 += Number(first?.tool === tool);
        count.top3 += Number(likely.some((prediction) => prediction.tool === tool));
        count.markov += Number(markov.predict(before) === tool);
        if (first && reads(first.tool) && isSure(first)) risk("ahead", count, first.tool === tool);
        const [foreseen] = foresight.foresee(steps);
        // As the product has it: a tool that is sure makes up for arguments that are not quite.
        const bound = first && isSure(first) && first.tool === foreseen?.tool ? LIKELY_ARGUMENTS : COUNTED_ON;
        if (foreseen && reads(foreseen.tool) && foreseen.bound >= bound) {
          risk("exact", count, foreseen.call === step.call);
        }
      }
      for (const budget of Object.values(budgets)) budget.note(1);
      const began = performance.now();
      habits.learn(trail, step);
      foresight.learn(steps, step, recipeOf(step, steps));
      updates.push(performance.now() - began);
      markov.learn(before, tool);
      steps.push(step);
    }
  }

  return { take, updates };
}

function figures({ n, steps, top1, top3, markov, ahead, exact }: Count) {
  const speculation = ({ made, used }: Count["ahead"]) => ({
    n: made,
    precision: made === 0 ? null : share(used, made),
    waste: share(made - used, steps + made - used),
    coverage: share(used, steps),
  });
  return {
    n,
    top1: percent(top1, n),
    top3: percent(top3, n),
    markov2_top1: percent(markov, n),
    speculation: speculation(ahead),
    speculation_exact: speculation(exact),
  };
}

function reads(tool: string): boolean {
  const name = tool.slice(tool.indexOf(":") + 1);
  return effectOf({ effects: {} }, { id: tool, name }) === "read";
}

function argumentsOf(args: unknown): JsonObject {
  try {
    const given = typeof args === "string" ? JSON.parse(args) : args;
    return isObject(given) ? given as JsonObject : {};
  } catch {
    return { text: String(args) };
  }
}

const share = (part: number, whole: number) => whole === 0 ? 0 : Math.round(part / whole * 1_000) / 1_000;
const percent = (part: number, whole: number) => whole === 0 ? 0 : Math.round(part / whole * 1_000) / 10;

function sum(counts: readonly Count[]): Count {
  const all = nothing();
  for (const count of counts) {
    for (const key of ["n", "steps", "top1", "top3", "markov"] as const) all[key] += count[key];
    for (const kind of ["ahead", "exact"] as const) {
      all[kind].made += count[kind].made;
      all[kind].used += count[kind].used;
    }
  }
  return all;
}

function mapValues<T, U>(record: Record<string, T>, map: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
