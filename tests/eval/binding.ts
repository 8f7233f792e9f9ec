// Arguments out of a request: what the product binds, against what a person would have filled in.
import { bindRequest } from "../../src/suggest/english/bind.ts";
import { sketchOf } from "../../src/suggest/english/sketch.ts";
import { canonicalJson, isObject, type JsonObject } from "../../src/model/json.ts";
import { effectOf } from "../../src/policy/effects.ts";
import type { Evaluation } from "./main.ts";

/** One request with the tools that serve it and the arguments it states. */
export interface Intent {
  readonly id: string;
  readonly intent: string;
  readonly tools: readonly string[];
  readonly arguments: Readonly<Record<string, JsonObject>>;
  /** `server:tool.parameter` to the tool whose output it takes. */
  readonly fed: Readonly<Record<string, string>>;
  readonly missing?: readonly string[];
}

export const evaluation: Evaluation = {
  options: { intents: { type: "string" }, servers: { type: "string" }, show: { type: "boolean" } },
  async run({ intents, servers, show }) {
    if (!intents || !servers) throw new Error("--intents FILE and --servers DIR say what to look at");
    const tools = await toolsIn(servers);
    const rows = (await Deno.readTextFile(intents)).trim().split("\n").map((line) => JSON.parse(line) as Intent);
    let [right, wrong, stated, edges, edgesRight, fed] = [0, 0, 0, 0, 0, 0];
    for (const row of rows) {
      const chosen = row.tools.map((id) => {
        const tool = tools.get(id)!;
        return { ...sketchOf(tool), reads: effectOf({ effects: {} }, { ...tool, id }) === "read" };
      });
      const calls = bindRequest(row.intent, chosen);
      stated += Object.values(row.arguments).reduce((sum, given) => sum + Object.keys(given).length, 0);
      fed += Object.keys(row.fed).length;
      calls.forEach(({ bound, fed: found }, i) => {
        const gold = row.arguments[row.tools[i]!] ?? {};
        for (const [name, value] of Object.entries(bound)) {
          const isRight = canonicalJson(gold[name] ?? null) === canonicalJson(value.value);
          if (isRight) right++;
          else wrong++;
          if (show && !isRight) {
            say(`${row.id} ${row.tools[i]}.${name} = ${JSON.stringify(value)} not ${JSON.stringify(gold[name])}`);
          }
        }
        if (show) {
          const lost = Object.keys(gold).filter((name) => !(name in bound));
          if (lost.length) say(`${row.id}   ${row.tools[i]} lacks ${lost.join(", ")}`);
        }
        for (const edge of found) {
          edges++;
          const isRight = row.fed[`${row.tools[i]}.${edge.parameter}`] === row.tools[edge.from];
          edgesRight += Number(isRight);
          if (show && !isRight) say(`${row.id} ${row.tools[i]}.${edge.parameter} fed by ${row.tools[edge.from]}`);
        }
      });
    }
    const share = (part: number, whole: number) => whole === 0 ? 1 : Math.round(part / whole * 1_000) / 1_000;
    return {
      n: rows.length,
      bound: right + wrong,
      precision: share(right, right + wrong),
      recall: share(right, stated),
      fed_precision: share(edgesRight, edges),
      fed_recall: share(edgesRight, fed),
    };
  },
};

function say(line: string): void {
  // deno-lint-ignore no-console -- for whoever wants to see what went wrong
  console.error(line);
}

/** Every tool of a folder of `tools/list` results, by `server:tool`. */
export async function toolsIn(folder: string): Promise<Map<string, Definition>> {
  const tools = new Map<string, Definition>();
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith(".json")) continue;
    const read = JSON.parse(await Deno.readTextFile(`${folder}/${name}`));
    const list = Array.isArray(read) ? read : isObject(read.result) ? read.result.tools : read.tools;
    for (const tool of list) tools.set(`${name.slice(0, -5)}:${tool.name}`, tool);
  }
  return tools;
}

export interface Definition {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
}
