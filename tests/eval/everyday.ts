// Requests in everyday words over real tools/list results: before use, and after ten sessions of it.
import { DEFAULTS } from "../../src/config/schema.ts";
import { readTools } from "../../src/mcp/discover.ts";
import type { Tool } from "../../src/model/tool.ts";
import { missingOf } from "../../src/vector/rank.ts";
import { createToolSearch } from "../../src/vector/search.ts";
import type { Judgement, SearchExperience, ToolSearch } from "../../src/vector/search_port.ts";
import { openEmptyDatabase } from "../fixtures/database.ts";
import { readLists } from "./index.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";

const REQUESTS = new URL("./intents/everyday.jsonl", import.meta.url).pathname;
const LIMIT = 8;
const SESSIONS = 10;
const PER_SESSION = 10;

interface Request {
  readonly half: "tune" | "held";
  readonly query: string;
  /** The same request in other words, for the sessions. */
  readonly also: readonly string[];
  /** Tools that serve it, each as well as the others. */
  readonly gold: readonly string[];
}

export const evaluation: Evaluation = {
  options: {
    servers: { type: "string" },
    requests: { type: "string", default: REQUESTS },
    half: { type: "string", default: "held" },
    models: { type: "string" },
    show: { type: "boolean" },
  },
  async run({ servers, requests, half, models, show }) {
    if (!servers) throw new Error("--servers DIR is missing: a folder of tools/list results, one JSON file per server");
    const all = (await Deno.readTextFile(requests!)).trim().split("\n").map((line) => JSON.parse(line) as Request);
    const rows = half === "all" ? all : all.filter((row) => row.half === half);
    const tools: Tool[] = [];
    for (const [name, raw] of await readLists(servers)) {
      tools.push(...(await readTools(name, raw, DEFAULTS.limits)).tools);
    }
    const dir = await Deno.makeTempDir({ prefix: "ac-everyday-" });
    const db = await openEmptyDatabase(`${dir}/data`);
    const search = createToolSearch({ database: db, models: models ?? `${dir}/models` });
    try {
      search.configure(DEFAULTS.embeddings);
      search.prepare(tools);
      search.warm();
      await search.settled();
      await search.search(tools, "warm up", LIMIT);
      const before = await ask(search, tools, rows, { show: Boolean(show) });
      const experience = await use(search, tools, rows);
      const after = await ask(search, tools, rows, { experience });
      return {
        n: rows.length,
        tools: tools.length,
        before,
        after,
        judgements: experience.judgements.length,
        top_1_gain: Math.round(10 * (after.top_1 - before.top_1)) / 10,
      };
    } finally {
      await search.close();
      await db.close();
      await Deno.remove(dir, { recursive: true });
    }
  },
};

interface Asking {
  readonly experience?: SearchExperience;
  readonly show?: boolean;
}

/** Asks every request as it was written first. */
async function ask(search: ToolSearch, tools: readonly Tool[], rows: readonly Request[], options: Asking) {
  const times: number[] = [];
  let [first, five, weakly, told] = [0, 0, 0, 0];
  for (const { query, gold } of rows) {
    const began = performance.now();
    const { hits, weak, isUnlikely } = await search.search(tools, query, LIMIT, options);
    times.push(performance.now() - began);
    const found = [...hits, ...weak].map(({ tool }) => tool.id);
    const place = found.findIndex((id) => gold.includes(id));
    if (place === 0) first++;
    if (place >= 0 && place < 5) five++;
    if (hits.length === 0) weakly++;
    if (isUnlikely) told++;
    // deno-lint-ignore no-console -- for a reader of what went wrong
    if (options.show && (place < 0 || place > 4 || hits.length === 0)) console.error(query, "→", found.slice(0, 3));
  }
  const percent = (count: number) => Math.round(1_000 * count / rows.length) / 10;
  const { p50, p95 } = quantiles(times);
  return {
    top_1: percent(first),
    top_5: percent(five),
    weak: percent(weakly),
    told_none: percent(told),
    p50_ms: p50,
    p95_ms: p95,
  };
}

/** Ten sessions, each with ten of the requests in other words: a search, then a call of the right tool if it was shown. */
async function use(search: ToolSearch, tools: readonly Tool[], rows: readonly Request[]): Promise<SearchExperience> {
  const seen = new Map<string, Judgement>();
  const experience = () => ({ judgements: [...seen.values()], failures: () => 0 });
  const random = randomFrom(30);
  for (let session = 0; session < SESSIONS; session++) {
    for (let i = 0; i < PER_SESSION; i++) {
      const { also, gold } = rows[Math.floor(random() * rows.length)]!;
      const request = also[Math.floor(random() * also.length)]!;
      const { hits, weak } = await search.search(tools, request, LIMIT, { experience: experience() });
      const shown = [...hits, ...weak];
      const right = shown.find(({ tool }) => gold.includes(tool.id));
      if (!right) continue;
      const key = `${request}\n${right.tool.id}`;
      const missing = (seen.get(key)?.missing ?? 0) + missingOf(shown, right);
      seen.set(key, { request, tool: right.tool.id, missing });
    }
    search.remember("everyday", [...seen.values()].map(({ request }) => request));
    await search.settled();
  }
  return experience();
}

/** The same sequence of numbers from 0 to 1 each time (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
