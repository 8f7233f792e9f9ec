// Ranks the tools of a data set for each of its queries, through the product's own index and query path.
import type { JsonObject } from "../../src/model/json.ts";
import type { Tool } from "../../src/model/tool.ts";
import { DEFAULTS } from "../../src/config/schema.ts";
import { createToolSearch } from "../../src/vector/search.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";
import { openEmptyDatabase } from "../fixtures/database.ts";

/** What is asked for; agents ask for eight unless they say so. */
const LIMIT = 50;

interface ToolRow {
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly description?: string;
  readonly input_schema?: JsonObject;
}

interface QueryRow {
  readonly query: string;
  readonly gold: readonly string[];
  /** Each a set of tools that do equally well. */
  readonly gold_groups?: readonly (readonly string[])[];
  /** Whether one of the gold tools is enough. */
  readonly any?: boolean;
}

export const evaluation: Evaluation = {
  options: {
    data: { type: "string" },
    queries: { type: "string" },
    distractors: { type: "string", multiple: true },
    models: { type: "string" },
  },
  async run(values) {
    const { data, queries, models } = values;
    const distractors = values.distractors as unknown as string[] | undefined ?? [];
    if (!data) throw new Error("--data DIR is missing: a folder with tools.jsonl and queries.jsonl");
    const file = queries === undefined
      ? `${data}/queries.jsonl`
      : queries.includes("/")
      ? queries
      : `${data}/${queries}`;
    const rows = await readRows<QueryRow>(file);
    const own = await readRows<ToolRow>(`${data}/tools.jsonl`);
    const others = await Promise.all(distractors.map((folder) => readRows<ToolRow>(`${folder}/tools.jsonl`)));
    const tools = [
      ...own.map((row) => toTool(row, row.id)),
      ...others.flat().map((row, i) => toTool(row, `other-${i}`)),
    ];
    return await measure(tools, rows, models);
  },
};

/** Indexes the tools in a database of their own and asks every query once. */
export async function measure(tools: readonly Tool[], rows: readonly QueryRow[], models?: string) {
  const dir = await Deno.makeTempDir({ prefix: "ac-retrieval-" });
  const db = await openEmptyDatabase(`${dir}/data`);
  const search = createToolSearch({ database: db, models: models ?? `${dir}/models` });
  try {
    search.configure(DEFAULTS.embeddings);
    const began = performance.now();
    search.prepare(tools);
    search.warm();
    await search.settled();
    const index_ms = Math.round(performance.now() - began);
    await search.search(tools, "warm up", LIMIT);
    const ranks: Rank[] = [];
    const times: number[] = [];
    let abstained = 0;
    for (const row of rows) {
      const asked = performance.now();
      const { hits, weak } = await search.search(tools, row.query, LIMIT);
      times.push(performance.now() - asked);
      if (hits.length === 0) abstained++;
      // A search that abstains still names what came nearest.
      ranks.push(rankOf(row, [...hits, ...weak].map(({ tool }) => tool.id)));
    }
    const percent = (value: (rank: Rank) => number) =>
      Math.round(1000 * ranks.reduce((sum, rank) => sum + value(rank), 0) / ranks.length) / 10;
    const { p50, p95 } = quantiles(times);
    return {
      n: rows.length,
      tools: tools.length,
      recall_at_1: percent(recallAt(1)),
      recall_at_5: percent(recallAt(5)),
      recall_at_10: percent(recallAt(10)),
      hit_at_5: percent(({ groups }) => groups.some((rank) => rank < 5) ? 1 : 0),
      mrr: percent(({ groups }) => 1 / (1 + Math.min(...groups))),
      abstained,
      p50_ms: p50,
      p95_ms: p95,
      index_ms,
      rss_mb: Math.round(Deno.memoryUsage().rss / 1e6),
    };
  } finally {
    await search.close();
    await db.close();
    await Deno.remove(dir, { recursive: true });
  }
}

interface Rank {
  /** The place of the best tool of each group, counted from 0. */
  readonly groups: readonly number[];
  readonly any: boolean;
}

function rankOf({ gold, gold_groups, any = false }: QueryRow, ids: readonly string[]): Rank {
  const place = new Map(ids.map((id, i) => [id, i]));
  const groups = gold_groups ?? gold.map((id) => [id]);
  return { any, groups: groups.map((group) => Math.min(...group.map((id) => place.get(id) ?? Infinity))) };
}

function recallAt(limit: number): (rank: Rank) => number {
  return ({ groups, any }) => {
    const found = groups.filter((rank) => rank < limit).length;
    return any ? Math.min(found, 1) : found / groups.length;
  };
}

function toTool({ server, name, description = "", input_schema = {} }: ToolRow, id: string): Tool {
  return { id, server, name, description, inputSchema: input_schema, hash: id };
}

async function readRows<Row>(path: string): Promise<Row[]> {
  return (await Deno.readTextFile(path)).split("\n").filter(Boolean).map((line) => JSON.parse(line) as Row);
}
