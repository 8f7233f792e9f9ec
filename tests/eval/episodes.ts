// After one success for each request: is a paraphrase with other values answered with the right tools and every stated
// value, as a suggestion; all episodes in one home, among all the tools there are.
import { DEFAULTS } from "../../src/config/schema.ts";
import { canonicalJson, type JsonObject } from "../../src/model/json.ts";
import type { Tool } from "../../src/model/tool.ts";
import { effectOf } from "../../src/policy/effects.ts";
import { findAmong } from "../../src/suggest/choice.ts";
import type { Episode } from "../../src/suggest/episodes/episodes.ts";
import { nearEpisode } from "../../src/suggest/episodes/near.ts";
import type { EpisodeTask } from "../../src/suggest/episodes/rebind.ts";
import { createToolSearch } from "../../src/vector/search.ts";
import { openEmptyDatabase } from "../fixtures/database.ts";
import { toolsIn } from "./binding.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";

interface Pair {
  readonly id: string;
  readonly half: "tune" | "held";
  readonly earlier: string;
  readonly now: string;
  readonly tasks: readonly EpisodeTask[];
  /** The arguments of the paraphrase, by task. */
  readonly arguments: Readonly<Record<string, JsonObject>>;
}

/** The confidence from which a workflow is suggested. */
const SUGGESTED = 0.7;

const nothing = () => ({ n: 0, right: 0, tools: 0, suggested: 0, values: 0, right_values: 0, wrong_values: 0 });

export const evaluation: Evaluation = {
  options: {
    pairs: { type: "string" },
    servers: { type: "string" },
    models: { type: "string" },
    show: { type: "boolean" },
  },
  async run({ pairs, servers, models, show }) {
    if (!pairs || !servers) throw new Error("--pairs FILE and --servers DIR say what to look at");
    const rows = (await Deno.readTextFile(pairs)).trim().split("\n").map((line) => JSON.parse(line) as Pair);
    const tools = [...await toolsIn(servers)].map(([id, tool]): Tool => ({
      ...tool,
      id,
      server: id.slice(0, id.indexOf(":")),
      description: tool.description ?? "",
      hash: id,
    }));
    const byId = new Map(tools.map((tool) => [tool.id, tool]));
    const episodes: Episode[] = rows.map(({ earlier, tasks }) => ({ intent: earlier, tasks, good: 1, bad: 0 }));
    const dir = await Deno.makeTempDir({ prefix: "ac-episodes-" });
    const db = await openEmptyDatabase(`${dir}/data`);
    const search = createToolSearch({ database: db, models: models ?? `${dir}/models` });
    try {
      search.configure(DEFAULTS.embeddings);
      search.prepare(tools);
      search.warm();
      await search.settled();
      const counts: Record<string, ReturnType<typeof nothing>> = {};
      const times: number[] = [];
      for (const row of rows) {
        const began = performance.now();
        const near = await nearEpisode(row.now, episodes, {
          find: findAmong(search, tools),
          toolOf: (id) => byId.get(id),
          reads: (id) => effectOf({ effects: {} }, byId.get(id)!) === "read",
        });
        times.push(performance.now() - began);
        const count = counts[row.half] ??= nothing();
        count.n++;
        const isSuggested = near !== undefined && near.confidence >= SUGGESTED;
        const made = isSuggested ? near.tasks : [];
        const isSet = canonicalJson(made.map(({ tool }) => tool)) === canonicalJson(row.tasks.map(({ tool }) => tool));
        count.suggested += Number(isSuggested);
        count.tools += Number(isSet);
        let isRight = isSet;
        for (const { id } of row.tasks) {
          const given = isSet ? made.find((task) => task.id === id)!.arguments : {};
          for (const [name, wanted] of Object.entries(row.arguments[id]!)) {
            const isValue = canonicalJson(given[name] ?? null) === canonicalJson(wanted);
            count.values++;
            count.right_values += Number(isValue);
            count.wrong_values += Number(!isValue && name in given);
            isRight &&= isValue;
          }
        }
        count.right += Number(isRight);
        // deno-lint-ignore no-console -- for whoever wants to see what went wrong
        if (show && !isRight) console.error(row.id, row.half, row.now, JSON.stringify(made), near?.confidence);
      }
      const { p50, p95 } = quantiles(times);
      return { tools: tools.length, ...counts, p50_ms: p50, p95_ms: p95 };
    } finally {
      await search.close();
      await db.close();
      await Deno.remove(dir, { recursive: true });
    }
  },
};
