// Whole workflows for a request: which tools, with which arguments, how sure, and how quickly; among all the tools there are.
import { DEFAULTS } from "../../src/config/schema.ts";
import { chooseTools, findAmong } from "../../src/suggest/choice.ts";
import { type Hints, planChoices, type Suggestion } from "../../src/suggest/draft.ts";
import { canonicalJson } from "../../src/model/json.ts";
import type { Tool } from "../../src/model/tool.ts";
import { effectOf } from "../../src/policy/effects.ts";
import { createToolSearch } from "../../src/vector/search.ts";
import { type Intent, toolsIn } from "./binding.ts";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";
import { openEmptyDatabase } from "../fixtures/database.ts";

export const evaluation: Evaluation = {
  options: {
    intents: { type: "string" },
    servers: { type: "string" },
    models: { type: "string" },
    show: { type: "boolean" },
  },
  async run({ intents, servers, models, show }) {
    if (!intents || !servers) throw new Error("--intents FILE and --servers DIR say what to look at");
    const rows = (await Deno.readTextFile(intents)).trim().split("\n").map((line) => JSON.parse(line) as Intent);
    const tools = [...await toolsIn(servers)].map(([id, tool]): Tool => ({
      ...tool,
      id,
      server: id.slice(0, id.indexOf(":")),
      description: tool.description ?? "",
      hash: id,
    }));
    const byId = new Map(tools.map((tool) => [tool.id, tool]));
    const nothing: Hints = {
      flows: () => [],
      usual: () => undefined,
      trust: () => 0,
      reads: (id) => effectOf({ effects: {} }, byId.get(id)!) === "read",
    };
    const dir = await Deno.makeTempDir({ prefix: "ac-suggest-" });
    const db = await openEmptyDatabase(`${dir}/data`);
    const search = createToolSearch({ database: db, models: models ?? `${dir}/models` });
    try {
      search.configure(DEFAULTS.embeddings);
      search.prepare(tools);
      search.warm();
      await search.settled();
      const times: number[] = [];
      const judged: { confidence: number; right: boolean }[] = [];
      let [sets, plans] = [0, 0];
      for (const row of rows) {
        const began = performance.now();
        const chosen = await chooseTools(row.intent, findAmong(search, tools));
        const suggestion = planChoices(chosen, nothing);
        times.push(performance.now() - began);
        const isSet = canonicalJson(suggestion.tasks.map(({ tool }) => tool)) === canonicalJson(row.tools);
        const right = isSet && isRight(suggestion, row);
        sets += Number(isSet);
        plans += Number(right);
        judged.push({ confidence: suggestion.confidence, right });
        if (show) {
          say(
            `${right ? "right" : isSet ? "args " : "tools"} ${suggestion.confidence.toFixed(2)} ${row.id} ${
              row.intent.slice(0, 80)
            }`,
          );
        }
      }
      const { p50, p95 } = quantiles(times);
      return {
        n: rows.length,
        tools: tools.length,
        right_tools: sets,
        right: plans,
        calibration: calibrationOf(judged),
        p50_ms: p50,
        p95_ms: p95,
      };
    } finally {
      await search.close();
      await db.close();
      await Deno.remove(dir, { recursive: true });
    }
  },
};

/** Every value is one that the request states, and everything required is there unless the request leaves it out. */
function isRight({ tasks, missing }: Suggestion, row: Intent): boolean {
  const values = tasks.every(({ tool, arguments: given }) =>
    Object.entries(given).every(([name, value]) =>
      row.fed[`${tool}.${name}`] !== undefined
        ? String(value).startsWith("$OUTPUT[")
        : canonicalJson(row.arguments[tool]?.[name] ?? null) === canonicalJson(value)
    )
  );
  // What another call gives may be left open: the answer says so.
  const open = missing.every(({ tool, parameter }) =>
    row.missing?.includes(`${tool}.${parameter}`) || row.fed[`${tool}.${parameter}`] !== undefined
  );
  return values && open;
}

/** Of the suggestions that are at least so sure, how many are right. */
function calibrationOf(judged: readonly { confidence: number; right: boolean }[]) {
  return Object.fromEntries([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7].map((least) => {
    const sure = judged.filter(({ confidence }) => confidence >= least);
    const right = sure.filter((one) => one.right).length;
    return [String(least), {
      n: sure.length,
      right: sure.length === 0 ? null : Math.round(right / sure.length * 1_000) / 1_000,
    }];
  }));
}

function say(line: string): void {
  // deno-lint-ignore no-console -- for whoever wants to see what went wrong
  console.error(line);
}
