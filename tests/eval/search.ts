// What a searching agent relies on, over real tools/list results: tools are found by their names, requests that one of
// them can serve get an answer, the others are told that none fits.
import { openDatabase } from "../../src/db/pglite/open.ts";
import { DEFAULTS } from "../../src/config/schema.ts";
import { readTools } from "../../src/mcp/discover.ts";
import type { Tool } from "../../src/model/tool.ts";
import { createToolSearch } from "../../src/vector/search.ts";
import type { ToolSearch } from "../../src/vector/search_port.ts";
import { readLists } from "./index.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";
import { openEmptyDatabase } from "../fixtures/database.ts";

const LIMIT = 8;
const REQUESTS = new URL("../data/requests.jsonl", import.meta.url).pathname;

interface Request {
  readonly query: string;
  readonly servable: boolean;
  readonly gold?: readonly string[];
}

export const evaluation: Evaluation = {
  options: { data: { type: "string" }, requests: { type: "string", default: REQUESTS }, models: { type: "string" } },
  async run({ data, requests, models }) {
    if (!data) throw new Error("--data DIR is missing: a folder of tools/list results, one JSON file per server");
    const tools: Tool[] = [];
    for (const [name, raw] of await readLists(data)) tools.push(...(await readTools(name, raw, DEFAULTS.limits)).tools);
    const dir = await Deno.makeTempDir({ prefix: "ac-search-" });
    try {
      const first = await timedIndex(tools, { dir, models, open: openEmptyDatabase });
      await first.close();
      const second = await timedIndex(tools, { dir, models, open: openDatabase });
      const figures = {
        tools: tools.length,
        index_first_ms: first.ms,
        index_again_ms: second.ms,
        ...await askByName(second.search, tools),
        ...await askRequests(second.search, tools, requests!),
        rss_mb: Math.round(Deno.memoryUsage().rss / 1e6),
      };
      await second.close();
      return figures;
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
};

interface Place {
  readonly dir: string;
  readonly models: string | undefined;
  readonly open: (dataDir: string) => ReturnType<typeof openDatabase>;
}

async function timedIndex(tools: readonly Tool[], { dir, models = `${dir}/models`, open }: Place) {
  const db = await open(`${dir}/data`);
  const search = createToolSearch({ database: db, models });
  const began = performance.now();
  search.configure(DEFAULTS.embeddings);
  search.prepare(tools);
  search.warm();
  await search.settled();
  const ms = Math.round(performance.now() - began);
  return {
    search,
    ms,
    async close() {
      await search.close();
      await db.close();
    },
  };
}

/** Every tool asked for by its id, by its bare name, and by its name inside a sentence. */
async function askByName(search: ToolSearch, tools: readonly Tool[]) {
  const colliding = Map.groupBy(tools, ({ name }) => name);
  const missed: string[] = [];
  const times: number[] = [];
  const ask = async (tool: Tool, query: string, within: number) => {
    const began = performance.now();
    const { hits } = await search.search(tools, query, LIMIT);
    times.push(performance.now() - began);
    if (!hits.slice(0, within).some((hit) => hit.tool.id === tool.id)) missed.push(query);
  };
  for (const tool of tools) {
    const twins = colliding.get(tool.name)!.length;
    await ask(tool, tool.id, 1);
    await ask(tool, tool.name, twins);
    await ask(tool, `please use ${tool.name} to do the thing`, Math.max(3, twins));
  }
  return {
    name_queries: tools.length * 3,
    name_missed: missed,
    query_p50_ms: quantiles(times).p50,
    query_p95_ms: quantiles(times).p95,
  };
}

async function askRequests(search: ToolSearch, tools: readonly Tool[], file: string) {
  const rows = (await Deno.readTextFile(file)).split("\n").filter(Boolean).map((line) => JSON.parse(line) as Request);
  const answers = await Array.fromAsync(
    rows,
    async (row) => ({ row, ...await search.search(tools, row.query, LIMIT) }),
  );
  const of = (servable: boolean) => answers.filter(({ row }) => row.servable === servable);
  const abstained = (servable: boolean) => of(servable).filter(({ hits }) => hits.length === 0);
  const toldNone = (servable: boolean) => of(servable).filter(({ isUnlikely }) => isUnlikely);
  const share = (count: number, all: number) => Math.round(1000 * count / (all || 1)) / 1000;
  const found = of(true).filter(({ row, hits, weak }) =>
    [...hits, ...weak].slice(0, 5).some(({ tool }) => row.gold!.includes(tool.id))
  );
  return {
    unservable: of(false).length,
    unservable_abstained: share(abstained(false).length, of(false).length),
    unservable_told_none: share(toldNone(false).length, of(false).length),
    servable: of(true).length,
    servable_told_none: share(toldNone(true).length, of(true).length),
    servable_abstained: share(abstained(true).length, of(true).length),
    servable_hit_at_5: share(found.length, of(true).length),
    wrongly_answered: of(false).filter(({ hits }) => hits.length > 0).map(({ row }) => row.query),
    wrongly_abstained: abstained(true).map(({ row }) => row.query),
  };
}
