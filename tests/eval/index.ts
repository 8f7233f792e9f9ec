// Puts real tools/list results through the indexer and the catalogue, as if the servers had just been started.
import type { ServerConfig } from "../../src/config/schema.ts";
import { DEFAULTS } from "../../src/config/schema.ts";
import { createCatalogueStore } from "../../src/call/catalogue/catalogue.ts";
import { readTools } from "../../src/mcp/discover.ts";
import { isObject } from "../../src/model/json.ts";
import type { ToolNote } from "../../src/model/tool.ts";
import type { Evaluation } from "./main.ts";
import { openEmptyDatabase } from "../fixtures/database.ts";

export const evaluation: Evaluation = {
  options: { data: { type: "string" } },
  async run({ data }) {
    if (!data) throw new Error("--data DIR is missing: a folder of tools/list results, one JSON file per server");
    const lists = await readLists(data);
    const dir = await Deno.makeTempDir({ prefix: "ac-index-" });
    const db = await openEmptyDatabase(`${dir}/data`);
    try {
      const began = performance.now();
      const hints = { copy: `${dir}/catalogue.json`, hints: `${dir}/offering.json`, onHint: () => Promise.resolve() };
      const store = createCatalogueStore(db, hints);
      const servers: ServerConfig[] = [];
      for (const [name, raw] of lists) {
        const server: ServerConfig = { name, command: name, origin: "global" };
        const catalogue = await readTools(name, raw, DEFAULTS.limits);
        await store.save(server, { catalogue, era: { kind: "legacy" }, startMs: 0 });
        servers.push(server);
      }
      await store.settled();
      const ms = Math.round(performance.now() - began);
      // A second store has nothing in memory: what it finds is what the database kept.
      const kept = createCatalogueStore(db, { ...hints, copy: `${dir}/none.json` });
      const found = await Promise.all(servers.map((server) => kept.find(server)));
      const catalogues = found.flatMap((known) => known ? [known.catalogue] : []);
      const tools = catalogues.flatMap((catalogue) => catalogue.tools);
      const named = (key: "dropped" | "repaired") =>
        servers.flatMap(({ name }, i) => found[i]?.catalogue[key].map((note) => describe(name, note)) ?? []);
      const counts = Map.groupBy(tools, ({ name }) => name);
      return {
        servers: catalogues.length,
        tools: tools.length,
        listed: [...lists.values()].reduce((sum, list) => sum + list.length, 0),
        dropped: named("dropped").length,
        repaired: named("repaired").length,
        colliding: [...counts.values()].filter(({ length }) => length > 1).length,
        ms,
        dropped_tools: named("dropped"),
        repaired_tools: named("repaired"),
      };
    } finally {
      await db.close();
      await Deno.remove(dir, { recursive: true });
    }
  },
};

/** The raw lists by server, in a stable order. */
export async function readLists(folder: string): Promise<Map<string, unknown[]>> {
  const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name)
    .filter((name) => name.endsWith(".json")).sort();
  const entries = names.map(async (name) => [name.slice(0, -5), await readList(`${folder}/${name}`)] as const);
  return new Map(await Promise.all(entries));
}

/** One tools/list result: the result, the whole response, or just the list. */
export async function readList(path: string): Promise<unknown[]> {
  const value: unknown = JSON.parse(await Deno.readTextFile(path));
  const result = isObject(value) && isObject(value.result) ? value.result : value;
  const list = isObject(result) ? result.tools : result;
  if (!Array.isArray(list)) throw new Error(`${path} holds no tools/list result`);
  return list;
}

function describe(server: string, { tool, why }: ToolNote): string {
  return `${server}:${tool}: ${why}`;
}
