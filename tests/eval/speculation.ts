// Reads made ahead over recorded conversations, streamed as one user's history, learning as it goes: how many would have
// been made, how many were called for, and what the others cost.
import { valueOf } from "../../src/call/answer.ts";
import { createBudget } from "../../src/graphrag/budget.ts";
import { nameOf } from "../../src/graphrag/foresight.ts";
import { WASTE } from "../../src/graphrag/rule.ts";
import { canonicalJson, type JsonObject } from "../../src/model/json.ts";
import { tokens } from "../../src/model/text.ts";
import { effectOf } from "../../src/policy/effects.ts";
import { createPredictor, WITHIN } from "../../src/suggest/ahead/predictor.ts";
import { valuesOf } from "../../src/suggest/ahead/text_leaves.ts";
import { AHEAD, chosen } from "../../src/suggest/ahead/choose.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";

interface Row {
  readonly source: string;
  readonly prompt: string;
  readonly calls: readonly {
    readonly tool: string;
    readonly args: JsonObject;
    readonly output: string;
    readonly ok: boolean;
  }[];
}

interface Count {
  n: number;
  reads: number;
  made: number;
  used: number;
  tokens: number;
}

/** A read that was made ahead. */
interface Made {
  readonly call: string;
  readonly at: number;
  readonly end: ReturnType<ReturnType<typeof createBudget>["risk"]>;
}

const nothing = (): Count => ({ n: 0, reads: 0, made: 0, used: 0, tokens: 0 });

export const evaluation: Evaluation = {
  options: { data: { type: "string" } },
  async run({ data }) {
    if (!data) throw new Error("--data FILE says which conversations to stream");
    const rows = (await Deno.readTextFile(data)).trim().split("\n").map((line) => JSON.parse(line) as Row);
    const [prompted, unprompted] = [stream(rows, ({ prompt }) => prompt), stream(rows, () => "")];
    return {
      ...prompted,
      without_prompts: { all: unprompted.all, sources: unprompted.sources },
    };
  },
};

function stream(rows: readonly Row[], promptOf: (row: Row) => string) {
  const counts: Record<string, Count> = {};
  const predictor = createPredictor();
  const budget = createBudget(WASTE);
  const times: number[] = [];
  /** The size of the answers of each tool, for reads whose answer is in no record. */
  const sizes = new Map<string, number>();

  for (const row of rows) {
    const count = counts[row.source] ??= nothing();
    const course = predictor.begin(promptOf(row));
    let made: Made[] = [];

    for (const { tool, args, output, ok } of row.calls) {
      const id = `${row.source}:${tool}`;
      const reads = effectOf({ effects: {} }, { id, name: tool }) === "read";
      const call = nameOf(id, canonicalJson(args)) ?? "";
      count.n++;
      count.reads += Number(reads);
      budget.note(1);
      made = made.filter((one) => {
        const isUsed = one.call === call;
        if (!isUsed && reads && course.calls.length + 1 - one.at < WITHIN) return true;
        one.end({ used: isUsed, ms: 1 });
        count.used += Number(isUsed);
        return false;
      });
      const value = valueOf({ content: [{ type: "text", text: output }] });
      const began = performance.now();
      // As the product asks: before the call is learned from.
      const isPromising = predictor.isPromising(id);
      predictor.learn(course, { tool: id, call, arguments: args, leaves: ok ? valuesOf(value) : [], reads });
      const size = Math.min(AHEAD.tokens, tokens(output.length));
      sizes.set(id, sizes.has(id) ? 0.8 * sizes.get(id)! + 0.2 * size : size);
      for (const candidate of isPromising ? chosen(predictor.foresee(course)) : []) {
        if (!budget.allows(1)) break;
        made.push({ call: candidate.call, at: course.calls.length, end: budget.risk(1) });
        predictor.attach(course, candidate.call);
        count.made++;
        count.tokens += sizes.get(candidate.tool) ?? 0;
      }
      times.push(performance.now() - began);
    }
    for (const { end } of made) end({ used: false, ms: 1 });
    predictor.end(course);
  }
  const { p50, p95 } = quantiles(times);
  return { all: figures(sum(Object.values(counts))), sources: mapValues(counts, figures), update_ms: { p50, p95 } };
}

function figures({ n, reads, made, used, tokens }: Count) {
  return {
    n,
    reads,
    made,
    used,
    precision: made === 0 ? null : share(used, made),
    coverage: share(used, n),
    coverage_of_reads: share(used, reads),
    waste: share(made - used, n + made - used),
    tokens_attached: Math.round(tokens),
    tokens_per_saved: used === 0 ? null : Math.round(tokens / used),
  };
}

const share = (part: number, whole: number) => whole === 0 ? 0 : Math.round(part / whole * 1_000) / 1_000;

function sum(counts: readonly Count[]): Count {
  const all = nothing();
  for (const count of counts) for (const key of Object.keys(all) as (keyof Count)[]) all[key] += count[key];
  return all;
}

function mapValues<T, U>(record: Record<string, T>, map: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
