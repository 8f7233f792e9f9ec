// deno-lint-ignore-file no-console -- printing is what this file is for
// The figures that were asked of the product, each as measured beside its bound; `p95` of each unless it says otherwise.
import type { Evaluation } from "./main.ts";
import { atTheClient } from "./budgets/client.ts";
import { insideTheEngine } from "./budgets/inside.ts";
import { memoryByProfile } from "./budgets/memory.ts";
import { type Figure, isWithin } from "./budgets/figure.ts";

export const evaluation: Evaluation = {
  options: {
    rounds: { type: "string", default: "30" },
    /** How many tools there are to be found, and how many edges the learned graph has for each of them. */
    tools: { type: "string", default: "200" },
    edges: { type: "string", default: "10" },
    /** How long an engine rests before its memory is read; it gives back what it can within 10 s. */
    "rest-ms": { type: "string", default: "12000" },
  },
  async run({ rounds, tools, edges, "rest-ms": restMs }) {
    const size = { rounds: Number(rounds), tools: Number(tools), edges: Number(edges) };
    const figures: Figure[] = [
      ...await insideTheEngine(size),
      ...await atTheClient(size),
      ...await memoryByProfile(Number(restMs)),
    ];
    for (const figure of figures) console.error(lineOf(figure));
    return { ...size, figures, missed: figures.filter((figure) => !isWithin(figure)).map(({ name }) => name) };
  },
};

function lineOf(figure: Figure): string {
  const { name, measured, bound, unit, note } = figure;
  const sign = figure.least ? ">=" : "<=";
  const told = `${isWithin(figure) ? "  " : "! "}${name.padEnd(34)} ${String(measured).padStart(9)} ${unit.padEnd(6)}`;
  return `${told} ${sign} ${bound}${note === undefined ? "" : `   ${note}`}`;
}
