import { deepFreeze, isObject, matchesPattern, messageOf } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import { basename, dirname, join, resolve, sep } from "node:path";
import {
  type ClientId,
  type FoundServer,
  type Machine,
  OWN_NAME,
  type Place,
  type Problem,
  type Source,
} from "./client.ts";
import { convert, takeOver } from "./convert.ts";
import { parseFile } from "./parse.ts";
import { places, serverKey, userHome } from "./places.ts";
import { type Dialect, inputReferences } from "./variables.ts";

/** Everything that was found, and where it was looked for. */
export interface Found {
  readonly sources: readonly Source[];
  readonly problems: readonly Problem[];
  readonly looked: readonly string[];
}

/** What to look at; everything when it says nothing. */
export interface FindOptions {
  readonly client?: ClientId;
  /** Read just this file. */
  readonly config?: string;
}

const MAX_BYTES = 20 * 1024 * 1024;

/** Reads the clients' files. One that cannot be read is a problem of its own and costs the others nothing. */
export async function findServers(machine: Machine, options: FindOptions = {}): Promise<Found> {
  const known = places(machine);
  const looked = options.config ? await placesOf(resolve(machine.cwd, options.config), known) : known;
  const wanted = looked.filter(({ client }) => !options.client || options.client === client || options.config);
  const sources: Source[] = [];
  const problems: Problem[] = [];
  for (const pattern of wanted) {
    for (const path of await expandPath(pattern.path)) {
      const place = { ...pattern, path };
      try {
        const text = await readBounded(path);
        if (text !== undefined) sources.push(readSource(place, text, machine));
        else if (options.config) throw new Error("there is no such file");
      } catch (error) {
        problems.push({ client: place.client, path, reason: messageOf(error) });
      }
    }
  }
  // Claude's user and local servers are in one file, which is broken only once.
  const once = problems.filter((item, at) => problems.findIndex(({ path }) => path === item.path) === at);
  return deepFreeze({ sources, problems: once, looked: [...new Set(wanted.map(({ path }) => path))] });
}

/** The servers of one place of a client's file. */
export function readSource(place: Place, text: string, machine: Machine): Source {
  const data = parseFile(text, place.format);
  const map = place.keys.reduce<unknown>(
    (at, key) => isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined,
    data,
  );
  if (map !== undefined && map !== null && !isObject(map)) {
    throw new Error(`${place.keys.join(".")} is not a map of servers`);
  }
  const dialect: Dialect = {
    client: place.client,
    userHome: userHome(machine),
    workspace: place.scope === "user" ? undefined : machine.cwd,
    inputs: inputReferences(isObject(data) ? data.inputs : undefined),
  };
  const off = switchedOff(place, data);
  const entries = Object.entries(map ?? {});
  const servers = entries.filter(([name, entry]) => !isOwn(name, entry)).map(([name, entry]): FoundServer => {
    const converted = place.format === "yaml" ? takeOver(entry) : convert(entry, dialect);
    const server = converted.server && off(name) ? { ...converted.server, disabled: true } : converted.server;
    return { name, entry, ...converted, server };
  });
  return { ...place, servers, hasOwn: servers.length < entries.length, elsewhere: countElsewhere(place, data) };
}

function countElsewhere({ scope, keys }: Place, data: unknown): number {
  if (scope !== "local" || !isObject(data) || !isObject(data.projects)) return 0;
  const others = Object.entries(data.projects).filter(([folder]) => folder !== keys[1]).map(([, project]) => project);
  return others.filter((project) =>
    isObject(project) && isObject(project.mcpServers) && Object.keys(project.mcpServers).length > 0
  ).length;
}

/** Whether an entry starts AgentCards itself: a gateway must not end up behind itself. */
export function isOwn(name: string, entry: unknown): boolean {
  if (name === OWN_NAME) return true;
  const command = isObject(entry) ? entry.command : undefined;
  return typeof command === "string" && /^agentcards(\.exe|\.cmd)?$/.test(basename(command.replaceAll("\\", "/")));
}

/** Servers that a client switches off by name, outside of their definition. */
function switchedOff({ client, scope, keys }: Place, data: unknown): (name: string) => boolean {
  if (!isObject(data)) return () => false;
  if (client === "gemini" && isObject(data.mcp)) {
    const { allowed, excluded } = data.mcp;
    return (name) =>
      Array.isArray(excluded) && excluded.includes(name) ||
      Array.isArray(allowed) && allowed.length > 0 && !allowed.includes(name);
  }
  const project = client === "claude-code" && scope === "local" && isObject(data.projects) && data.projects[keys[1]!];
  const disabled = isObject(project) ? project.disabledMcpServers : undefined;
  return (name) => Array.isArray(disabled) && disabled.includes(name);
}

/** A file the user named: a known client's, or one whose shape tells how to read it. */
async function placesOf(path: string, known: readonly Place[]): Promise<Place[]> {
  const matching = known.filter((place) => place.path === path);
  if (matching.length > 0) return matching;
  const place = (client: ClientId, format: Place["format"], key = serverKey(client)): Place[] => {
    return [{ client, scope: "user", path, keys: [key], format }];
  };
  if (/\.ya?ml$/i.test(path)) return place("file", "yaml", "servers");
  if (/\.toml$/i.test(path)) return place("codex", "toml");
  const data: unknown = await readBounded(path).then((text) => parseFile(text ?? "", "json")).catch(() => undefined);
  const has = (key: string) => isObject(data) && isObject(data[key]);
  if (has("mcpServers")) return place("file", "json");
  if (has("servers")) return place("vscode", "json");
  return has("context_servers") ? place("zed", "json") : place("file", "json");
}

async function readBounded(path: string): Promise<string | undefined> {
  try {
    const info = await fs.stat(path);
    if (!info.isFile) throw new Error("it is not a file");
    if (info.size > MAX_BYTES) throw new Error("it is larger than 20 MB");
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await fs.readFile(path));
  } catch (error) {
    if (fs.isNotFound(error) || fs.isNotADirectory(error)) return undefined;
    throw error;
  }
}

/** Paths that fit a pattern with `*` in folder names. */
async function expandPath(pattern: string): Promise<string[]> {
  const star = pattern.split(sep).find((part) => part.includes("*"));
  if (!star) return [pattern];
  const [before, after] = [pattern.slice(0, pattern.indexOf(star)), pattern.slice(pattern.indexOf(star) + star.length)];
  const found: string[] = [];
  try {
    for await (const { name, isDirectory } of fs.readDir(dirname(join(before, "x")))) {
      if (isDirectory && matchesPattern(star, name)) found.push(...await expandPath(before + name + after));
    }
  } catch {
    // No such folder: nothing fits.
  }
  return found;
}
