import {
  type Additions,
  type Change,
  CLIENT_NAMES,
  type ClientId,
  entryAt,
  type FileEdit,
  findServers,
  type Found,
  type Item,
  type Machine,
  managedPath,
  mergeConfig,
  type Move,
  type Moves,
  OWN_NAME,
  type OwnCommand,
  ownEntry,
  parseConfig,
  parseFile,
  type Permissions,
  planMoves,
  type Problem,
  readSecrets,
  rewrite,
  type Source,
} from "../../config/mod.ts";
import { AgentCardsError, isObject, messageOf, nearest } from "../../model/mod.ts";
import { fs, system } from "../../platform/start.ts";
import { join, resolve } from "node:path";
import type { InitIo, InitOptions } from "./io.ts";
import { ownToolsChange } from "./own_tools.ts";
import { permissionsOf } from "./rules.ts";

/** A configuration file of ours before and after. */
export interface Target {
  readonly path: string;
  readonly before: string;
  readonly additions: Additions;
  readonly after: string;
}

/** Everything `init` would do. Making it changes nothing. */
export interface Plan extends Moves {
  readonly machine: Machine;
  readonly sources: readonly Source[];
  readonly problems: readonly Problem[];
  readonly looked: readonly string[];
  readonly permissions: Permissions;
  readonly targets: Readonly<Partial<Record<Move["target"], Target>>>;
  readonly changes: readonly Change[];
  /** Whether servers that do not start are moved, too. */
  readonly movesFailing: boolean;
}

/** Looks at every client and decides what would happen. */
export async function makePlan(options: InitOptions, io: InitIo): Promise<Plan> {
  const cwd = await fs.realPath(io.cwd).catch(() => io.cwd);
  const machine: Machine = { os: io.machine?.os ?? system.os, env: io.env, cwd };
  const client = options.client === undefined ? undefined : clientOf(options.client);
  const found = await findServers(machine, { client, config: options.config });
  await respectManaged({ ...found, client, config: options.config }, io, machine);

  const paths = { global: io.home.config, project: join(cwd, ".agentcards", "config.yaml") };
  if (options.project && paths.project === paths.global) {
    throw new AgentCardsError("USAGE", `Cannot use --project in ${cwd}: it is your home, not a project`, {
      hint: "Go to the project's folder.",
    });
  }
  const texts = { global: await textOf(paths.global), project: await textOf(paths.project) };
  const moveOptions = {
    project: options.project,
    isNamed: options.config !== undefined,
    isShared: options.share ?? false,
    env: io.env,
    secrets: await readSecrets(io.home.secrets),
    known: {
      global: parseConfig(texts.global, paths.global).servers ?? {},
      project: options.project ? parseConfig(texts.project, paths.project).servers ?? {} : {},
    },
  };
  const first = planMoves(found.sources, moveOptions);
  const uneditable = (await changesOf(first, io)).problems;
  const sources = found.sources.filter(({ path }) => !uneditable.some((problem) => problem.path === path));
  const moves = uneditable.length > 0 ? planMoves(sources, moveOptions) : first;

  const { known } = moveOptions;
  const permissions = await permissionsOf({ moves: moves.moves, sources, known }, machine);
  const target = (kind: Move["target"]) =>
    makeTarget(
      { ...additionsOf(kind, moves, { permissions, known: known[kind] }), isShared: options.share ?? false },
      paths[kind],
      texts[kind],
    );
  const targets = { global: target("global"), ...(options.project ? { project: target("project") } : {}) };
  const { changes } = await changesOf(moves, io);
  const own = options.config === undefined ? await ownToolsChange(changes, machine) : [];
  return {
    ...moves,
    machine,
    sources,
    problems: [...found.problems, ...uneditable],
    looked: found.looked,
    permissions,
    targets,
    changes: [...changes, ...own],
    movesFailing: options.failing ?? false,
  };
}

/** The client a user means by a name. */
export function clientOf(name: string): ClientId {
  const wanted = name.toLowerCase().replace(/[\s_]+/g, "-");
  const ids = (Object.keys(CLIENT_NAMES) as ClientId[]).filter((id) => id !== "file");
  const found = ids.find((id) => id === wanted || CLIENT_NAMES[id].toLowerCase() === name.toLowerCase()) ??
    ALIASES.get(wanted);
  if (found) return found;
  const near = nearest(name, ids, 1)[0];
  throw new AgentCardsError("USAGE", `Cannot limit to the client "${name}": it is not known`, {
    hint: near ? `Did you mean ${near}?` : `Known: ${ids.join(", ")}.`,
  });
}

const ALIASES = new Map<string, ClientId>([
  ["claude", "claude-code"],
  ["desktop", "claude-desktop"],
  ["vs-code", "vscode"],
  ["code", "vscode"],
  ["gemini-cli", "gemini"],
]);

async function respectManaged(
  asked: Found & { client?: ClientId; config?: string },
  io: InitIo,
  { os }: Machine,
): Promise<void> {
  const isTouched = asked.config
    ? asked.sources.some(({ client }) => client === "claude-code")
    : !asked.client || asked.client === "claude-code";
  const path = io.machine?.managed ?? managedPath(os);
  if (!isTouched || !await fs.stat(path).then(() => true, () => false)) return;
  const message = `Cannot set up AgentCards for Claude Code: an administrator manages its servers in ${path}`;
  throw new AgentCardsError("CONFIG_INVALID", message, {
    hint:
      "Servers of your own are ignored there. Ask for AgentCards to be added to that file, or name another client with --client.",
  });
}

async function textOf(path: string): Promise<string> {
  try {
    return await fs.readTextFile(path);
  } catch (cause) {
    if (fs.isNotFound(cause)) return "";
    throw new AgentCardsError("CONFIG_INVALID", `Cannot read ${path}: ${messageOf(cause)}`, { cause });
  }
}

interface Ruled {
  readonly permissions: Permissions;
  readonly known: Additions["servers"];
}

function additionsOf(target: Move["target"], { moves }: Moves, { permissions, known }: Ruled): Additions {
  const own = moves.filter((move) => move.target === target);
  const names = new Set([...own.map(({ name }) => name), ...Object.keys(known)]);
  const patterns = (list: "allow" | "deny" | "ask") =>
    permissions.rules.filter((rule) => rule.list === list && rule.pattern && names.has(rule.server)).map((
      { pattern },
    ) => pattern!);
  return {
    servers: Object.fromEntries(own.map(({ name, server }) => [name, server])),
    deny: [...new Set([...own.flatMap(({ deny }) => deny), ...patterns("deny")])],
    approve: [...new Set([...own.flatMap(({ approve }) => approve), ...patterns("ask")])],
    // A project can only tighten.
    allow: target === "global" ? [...new Set(patterns("allow"))] : [],
  };
}

/** Our file's new text; without some of the servers when they turned out not to belong there. */
export function makeTarget(additions: Additions, path: string, before: string): Target {
  return { path, before, additions, after: mergeConfig(before, additions, path) };
}

/** The edits of the clients' files, each tried on the present text. */
async function changesOf({ moves }: Moves, io: InitIo): Promise<{ changes: Change[]; problems: Problem[] }> {
  const edits = new Map<string, { source: Source; remove: Item[] }>();
  for (const { source, name, entry, leaves } of moves.flatMap(({ origins }) => origins)) {
    if (!leaves) continue;
    const edit = edits.get(source.path) ?? { source, remove: [] };
    edit.remove.push({ keys: source.keys, name, entry });
    edits.set(source.path, edit);
  }
  const changes: Change[] = [];
  const problems: Problem[] = [];
  for (const [path, { source: { client, format, keys, scope }, remove }] of edits) {
    try {
      const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(await fs.readFile(path));
      const own = {
        keys: client === "claude-code" ? ["mcpServers"] : keys,
        name: OWN_NAME,
        entry: ownEntry(client, scope === "project" ? PORTABLE : ownCommand(io)),
      };
      const there = entryAt(parseFile(text, format), own);
      const isThere = startsTheSame(there, own.entry);
      // An entry that starts AgentCards in another way keeps the variables that a user gave it.
      if (isObject(there) && isObject(there.env)) {
        own.entry.env = { ...there.env, ...isObject(own.entry.env) && own.entry.env };
      }
      const edit: FileEdit = { format: format === "toml" ? "toml" : "json", remove, add: isThere ? [] : [own] };
      rewrite(text, edit);
      changes.push({ client, path, edit });
    } catch (error) {
      problems.push({ client, path, reason: messageOf(error) });
    }
  }
  return { changes, problems };
}

/** The command for files that are shared: no path of this machine, no home of this user. */
const PORTABLE: OwnCommand = { command: "agentcards", args: ["serve"] };

/** The command for the clients' files. They do not hand on a home that was chosen in this shell. */
export function ownCommand({ entry, env, home }: InitIo): OwnCommand {
  return env.AGENTCARDS_HOME ? { ...entry, env: { ...entry.env, AGENTCARDS_HOME: resolve(home.dir) } } : entry;
}

/** An entry of ours that a user has added to (variables, say) is good as it is. */
function startsTheSame(there: unknown, own: Record<string, unknown>): boolean {
  return isObject(there) && there.command === own.command && JSON.stringify(there.args) === JSON.stringify(own.args);
}
