// Which call feeds which: what the product would infer, against what was written down.
import {
  type CallSketch,
  inferEdges,
  type OutputField,
  type Parameter,
  type ToolSketch,
} from "../../src/suggest/english/infer.ts";
import { isObject } from "../../src/model/json.ts";
import { seeded } from "../model/random.ts";
import type { Evaluation } from "./main.ts";
import { shuffled } from "./random_dag.ts";

interface Row {
  readonly source: string;
  readonly query: string;
  readonly nodes: readonly { readonly id: number; readonly tool: string; readonly args: Record<string, unknown> }[];
  readonly links: readonly { readonly source: number; readonly target: number; readonly to: string }[];
}

interface Spec {
  readonly source: string;
  readonly name: string;
  readonly description?: string;
  readonly input: Record<string, unknown>;
  readonly output: Record<string, unknown>;
  readonly required?: readonly string[];
}

interface Count {
  rows: number;
  gold: number;
  found: number;
  right: number;
  pairs: number;
}

export const evaluation: Evaluation = {
  options: { data: { type: "string" }, tools: { type: "string" }, show: { type: "string" } },
  async run({ data, tools, show }) {
    if (!data || !tools) throw new Error("--data FILE and --tools FILE say what to look at");
    const specs = new Map((await rowsOf<Spec>(tools)).map((spec) => [`${spec.source} ${spec.name}`, sketchOf(spec)]));
    const counts: Record<string, Count> = {};
    for (const row of await rowsOf<Row>(data)) {
      const source = row.source.startsWith("seal-tools") ? "seal-tools" : row.source;
      const nodes = shuffled(seeded(1 + (counts[row.source]?.rows ?? 0)), [...row.nodes]);
      const calls = nodes.map(({ tool, args, id }): CallSketch => ({
        tool: specs.get(`${source} ${tool}`) ?? { name: tool, description: "", inputs: [], outputs: [] },
        given: literalsOf(args, row.links.filter(({ target }) => target === id).map(({ to }) => to)),
      }));
      const found = new Set(inferEdges(row.query, calls).map(({ from, to }) => `${nodes[from]!.id} ${nodes[to]!.id}`));
      const gold = new Set(row.links.map(({ source, target }) => `${source} ${target}`));
      const count = counts[row.source] ??= { rows: 0, gold: 0, found: 0, right: 0, pairs: 0 };
      count.rows++;
      count.gold += gold.size;
      count.found += found.size;
      count.right += found.intersection(gold).size;
      count.pairs += nodes.length * (nodes.length - 1) - gold.size;
      if (show === row.source && found.symmetricDifference(gold).size > 0) tell(row, found, gold);
    }
    return { sources: Object.fromEntries(Object.entries(counts).map(([source, count]) => [source, figures(count)])) };
  },
};

function tell(row: Row, found: ReadonlySet<string>, gold: ReadonlySet<string>): void {
  // deno-lint-ignore no-console -- for whoever wants to see what went wrong
  console.error(JSON.stringify({ query: row.query, nodes: row.nodes, found: [...found], gold: [...gold] }, null, 1));
}

function figures({ rows, gold, found, right, pairs }: Count) {
  const precision = found === 0 ? 1 : right / found;
  const recall = gold === 0 ? 1 : right / gold;
  const f1 = precision + recall === 0 ? 0 : 2 * precision * recall / (precision + recall);
  const round = (value: number) => Math.round(value * 1_000) / 1_000;
  return {
    n: rows,
    precision: round(precision),
    recall: round(recall),
    f1: round(f1),
    false_edge_rate: round((found - right) / Math.max(1, pairs)),
  };
}

/** What a detector may see: arguments without a reference in them. */
function literalsOf(args: Record<string, unknown>, linked: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args).filter(([name, value]) =>
      !linked.includes(name) && !/\$var\d|API_call_\d/.test(JSON.stringify(value))
    ),
  );
}

function sketchOf({ name, description = "", input, output, required = [] }: Spec): ToolSketch {
  const parameters = isObject(input.properties) ? input.properties : input;
  const must = new Set(Array.isArray(input.required) ? input.required : required);
  return {
    name,
    description,
    inputs: Object.entries(parameters).filter(([, field]) => isObject(field)).map(([key, field]): Parameter => ({
      name: key,
      isRequired: must.has(key) || (isObject(field) && field.required === true),
      ...texts(field),
    })),
    outputs: fieldsOf(isObject(output.properties) ? output.properties : output, ""),
  };
}

function fieldsOf(fields: Record<string, unknown>, prefix: string): OutputField[] {
  return Object.entries(fields).filter(([, field]) => isObject(field)).flatMap(([key, field]) => [
    { path: `${prefix}${key}`, ...texts(field) },
    ...isObject(field) && isObject(field.properties) ? fieldsOf(field.properties, `${prefix}${key}.`) : [],
  ]);
}

function texts(field: unknown): { description: string; type?: string } {
  const { description, type } = isObject(field) ? field : {};
  return {
    description: typeof description === "string" ? description : "",
    ...typeof type === "string" && { type },
  };
}

async function rowsOf<T>(file: string): Promise<T[]> {
  return (await Deno.readTextFile(file)).trim().split("\n").map((line) => JSON.parse(line) as T);
}
