import type { OwnCommand } from "../../config/mod.ts";
import { isObject } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import { join, resolve } from "node:path";

/** The command for clients where AgentCards was started by `npx`: npx empties its cache without a word. */
export async function npxEntry(main: string): Promise<{ entry: OwnCommand; note: string } | undefined> {
  const cache = /^(.*[\\/]_npx[\\/][^\\/]+)[\\/]node_modules[\\/]/.exec(main)?.[1];
  if (cache === undefined) return undefined;
  const spec = await specIn(cache);
  const from = spec === undefined || spec === "agentcards" ? [] : [`--package=${spec}`];
  return {
    entry: { command: "npx", args: ["-y", ...from, "agentcards", "serve"] },
    note:
      "AgentCards runs out of npx's cache, which npx may empty: clients get an entry that goes through npx, which must " +
      "be in their PATH. `npm install -g agentcards`, then init again, makes it one that starts at once.",
  };
}

/** What npx was asked to run: a name, a name with its version or an address; a file by its full path. */
async function specIn(cache: string): Promise<string | undefined> {
  const data: unknown = await fs.readTextFile(join(cache, "package.json")).then(JSON.parse).catch(() => undefined);
  if (!isObject(data)) return undefined;
  const installed = isObject(data.dependencies) ? data.dependencies.agentcards : undefined;
  // npx keeps the words as they were typed, which mean another file in another folder.
  if (typeof installed === "string" && installed.startsWith("file:")) return resolve(cache, installed.slice(5));
  const packages = isObject(data._npx) && Array.isArray(data._npx.packages) ? data._npx.packages : [];
  return packages.find((one) => typeof one === "string" && one.includes("agentcards"));
}
