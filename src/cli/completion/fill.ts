import { CLIENT_NAMES, locateHome, readConfigFile } from "../../config/mod.ts";
import { findHolder } from "../../db/mod.ts";
import { isObject } from "../../model/mod.ts";
import { readChecked } from "../../platform/mod.ts";
import { fs } from "../../platform/start.ts";
import type { RootCommand } from "@bomb.sh/tab";
import { ask } from "../ask.ts";

type Values = readonly (readonly [value: string, description: string])[];

/** A shell that waits is worse than one that proposes nothing. */
const PATIENCE_MS = 1_500;
const MOST_FILES = 500;

/** Fills in what can stand at the end of these words: the package that answers the shell cannot wait for anything. */
export async function fillCompletions(root: RootCommand, words: readonly string[]): Promise<void> {
  const [command = ""] = words;
  const last = words.at(-1) ?? "";
  const late = new Promise<Values>((resolve) => setTimeout(() => resolve([]), PATIENCE_MS));
  const sources: Readonly<Record<string, () => Promise<Values>>> = {
    tool: tools,
    to: tools,
    server: servers,
    name: async () => command === "tools" || command === "ls" ? [...await servers(), ...await tools()] : [],
    run: runs,
    file: () => files(last),
  };
  for (const [path, { arguments: positions, options }] of root.commands) {
    if (path.split(" ")[0] !== command) continue;
    for (const [name, argument] of positions) {
      const source = Object.hasOwn(sources, name) ? sources[name] : undefined;
      if (!source) continue;
      const values = await Promise.race([source().catch(() => []), late]);
      argument.handler = (complete) => values.forEach(([value, about]) => complete(value, about));
    }
    const [ofServers, ofClients] = [options.get("server"), options.get("client")];
    if (ofServers) {
      const values = await servers().catch(() => []);
      ofServers.handler = (complete) => values.forEach(([value, about]) => complete(value, about));
    }
    if (ofClients) {
      ofClients.handler = (complete) => Object.entries(CLIENT_NAMES).forEach(([id, name]) => complete(id, name));
    }
  }
}

async function servers(): Promise<Values> {
  const { servers = {} } = await readConfigFile(locateHome().config);
  return Object.entries(servers).map(([name, { command, url }]) => [name, url ?? command ?? ""]);
}

/** The tools that are known, as the engine keeps them for when it has no database. */
async function tools(): Promise<Values> {
  const filed: unknown = await readChecked(locateHome().catalogue);
  const names = new Set((await servers()).map(([name]) => name));
  const all = (Array.isArray(filed) ? filed : []).flatMap((entry) => {
    const catalogue = Array.isArray(entry) && isObject(entry[1]) ? entry[1].catalogue : undefined;
    return isObject(catalogue) && Array.isArray(catalogue.tools) ? catalogue.tools.filter(isObject) : [];
  });
  const found = all.filter(({ server, id }) => names.has(String(server)) && typeof id === "string");
  return [...new Map(found.map(({ id, description }) => [String(id), shortened(description)]))];
}

const shortened = (text: unknown) => String(text ?? "").split("\n")[0]!.slice(0, 60);

/** The newest runs, if an engine is there to tell: completion starts none. */
async function runs(): Promise<Values> {
  if (!await findHolder(locateHome().lock)) return [];
  const found = await ask({ method: "runs", params: { limit: 30 } });
  return found.map(({ id, name, status }) => [id, `${name || "run"}, ${status}`]);
}

async function files(begun: string): Promise<Values> {
  const folder = begun.includes("/") ? begun.slice(0, begun.lastIndexOf("/") + 1) : "";
  const found: [string, string][] = [];
  for await (const { name, isDirectory } of fs.readDir(folder || ".")) {
    if (name.startsWith(".") && !begun.slice(folder.length).startsWith(".")) continue;
    found.push([`${folder}${name}${isDirectory ? "/" : ""}`, ""]);
    if (found.length >= MOST_FILES) break;
  }
  return found.sort();
}
