import { canonicalJson, deepFreeze, SERVER_NAME } from "../../model/mod.ts";
import { variablesIn } from "../expand.ts";
import { settleName } from "../write.ts";
import { CLIENT_NAMES, type FoundServer, type ServerEntry, type Source } from "./client.ts";
import { extractSecrets, openVault, type Vault } from "./extract.ts";

/** Where a server was found: one entry of one client's file. */
export interface Origin {
  readonly source: Source;
  readonly name: string;
  readonly entry: unknown;
  /** Whether the entry leaves the client's file. */
  readonly leaves: boolean;
}

/** A server on its way into our configuration, free of literal credentials. */
export interface Move {
  readonly name: string;
  readonly server: ServerEntry;
  readonly target: "global" | "project";
  readonly origins: readonly Origin[];
  /** Our file has exactly this already. */
  readonly isKnown: boolean;
  /** Variables that have no value yet. */
  readonly needs: readonly string[];
  readonly notes: readonly string[];
  readonly deny: readonly string[];
  readonly approve: readonly string[];
}

/** A server that stays in its client. */
export interface Stay {
  readonly source: Source;
  readonly name: string;
  readonly reason: string;
}

/** What becomes of every server that was found. */
export interface Moves {
  readonly moves: readonly Move[];
  readonly stays: readonly Stay[];
  /** New lines of `secrets.env`. */
  readonly secrets: Readonly<Record<string, string>>;
}

type Servers = Readonly<Record<string, ServerEntry>>;

/** What decides where a server goes and what it is called. */
export interface MoveOptions {
  /** Whether the project's files take part. */
  readonly project: boolean;
  /** A file the user named is read even if it belongs to the project, but not rewritten. */
  readonly isNamed: boolean;
  /** Whether every client may see what is moved. */
  readonly isShared?: boolean;
  readonly secrets: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly known: Readonly<Record<Move["target"], Servers>>;
}

interface Group {
  readonly base: string;
  readonly target: Move["target"];
  readonly found: FoundServer[];
  readonly origins: Origin[];
}

/** Decides for every server whether it moves, where to and under which name. */
export function planMoves(sources: readonly Source[], options: MoveOptions): Moves {
  const stays: Stay[] = [];
  const groups = new Map<string, Group>();
  for (const source of sources) {
    for (const found of source.servers) {
      const reason = found.skipped ?? whyInProject(source, options);
      if (reason) stays.push({ source, name: found.name, reason });
      else gather(groups, source, found, options);
    }
  }
  const vault = openVault({ ...options, referenced: referencedBy([...groups.values()], options) });
  const moves: Move[] = [];
  const taken = { global: { ...options.known.global }, project: { ...options.known.project } };
  for (const group of groups.values()) {
    const move = settle(group, taken, { vault, options });
    if (move) {
      taken[group.target][move.name] = move.server;
      moves.push(move);
    } else {
      const reason = "a credential is written out in it, and a project's servers do not see secrets.env";
      stays.push(...group.origins.map(({ source, name }) => ({ source, name, reason })));
    }
  }
  return deepFreeze({ moves, stays, secrets: { ...vault.added } });
}

function whyInProject({ scope }: Source, { project, isNamed }: MoveOptions): string | undefined {
  if (scope === "project" && !project && !isNamed) return "it belongs to this project; --project moves it";
}

/** Same name and same definition is the same server, whoever wrote it down and whether or not it is switched on. */
function gather(groups: Map<string, Group>, source: Source, found: FoundServer, options: MoveOptions): void {
  const target = source.scope === "project" && options.project ? "project" : "global";
  const base = fitName(found.name);
  const { disabled: _, clients: _clients, ...definition } = found.server!;
  const key = canonicalJson([target, base, definition]);
  const group = groups.get(key) ?? { base, target, found: [], origins: [] };
  const isOurs = source.format === "yaml";
  const leaves = !isOurs && (source.scope !== "project" || options.project);
  group.found.push(found);
  group.origins.push({ source, name: found.name, entry: found.entry, leaves });
  groups.set(key, group);
}

type Taken = Record<Move["target"], Record<string, ServerEntry>>;

function settle(
  group: Group,
  taken: Taken,
  { vault, options }: { vault: Vault; options: MoveOptions },
): Move | undefined {
  const { base, target, found, origins } = group;
  const isOff = found.every(({ server }) => server!.disabled);
  const { disabled: _, ...definition } = found[0]!.server!;
  const wished = { ...definition, ...(isOff ? { disabled: true } : {}) };
  // A project's file is committed and its servers see no secrets: a throw-away vault only tells whether there are any.
  const own = target === "project" ? openVault({ secrets: {}, env: {}, referenced: new Set() }) : vault;
  const extracted = extractSecrets(base, wished, own);
  if (target === "project" && Object.keys(own.added).length > 0) return undefined;

  const { client, scope } = origins[0]!.source;
  const tags = scope === "local" ? [scope] : [client, `${client}-${scope}`];
  const name = settleName({ name: base, server: extracted, tags }, taken[target]);
  const known = Object.hasOwn(taken[target], name) ? taken[target][name] : undefined;
  const clients = target === "project" || options.isShared ? undefined : clientsOf(origins, known);
  const server = clients ? { ...extracted, clients } : extracted;
  const notes = new Set(found.flatMap((item) => item.notes));
  if (scope === "local") notes.add("was there for this folder only and is now there for all");
  const available = { ...options.env, ...(target === "global" ? { ...options.secrets, ...vault.added } : {}) };
  return {
    name,
    server,
    target,
    origins,
    isKnown: Object.hasOwn(taken[target], name),
    needs: [...new Set(textsOf(server).flatMap(variablesIn))].filter((variable) => !available[variable]),
    notes: [...notes],
    deny: patterns(name, found.flatMap((item) => item.deny)),
    approve: patterns(name, found.flatMap((item) => item.approve)),
  };
}

/**
 * The clients that a server is for: those that it comes from and those that it is for already; undefined for all of them.
 * A file that is no client's makes a new server one for all, and changes nothing about one that is there.
 */
function clientsOf(origins: readonly Origin[], known: ServerEntry | undefined): string[] | undefined {
  if (known && !known.clients) return undefined;
  const clients = new Set<string>([...known?.clients ?? [], ...origins.map(({ source }) => source.client)]);
  const isForeign = clients.delete("file");
  return isForeign && !known ? undefined : [...clients];
}

function patterns(server: string, tools: readonly string[]): string[] {
  return [...new Set(tools)].map((tool) => `${server}:${tool}`);
}

/** A client's name as one of ours. Two names that become the same are told apart by `settleName`. */
export function fitName(name: string): string {
  if (SERVER_NAME.test(name)) return name;
  const fitted = name.normalize("NFKD").replace(/[^A-Za-z0-9_.-]+/g, "-").replace(/^[^A-Za-z0-9]+|-+$/g, "").slice(
    0,
    64,
  );
  return fitted || "server";
}

function referencedBy(groups: readonly Group[], { known, secrets }: MoveOptions): Set<string> {
  const servers = [
    ...groups.flatMap(({ found }) => found.map(({ server }) => server!)),
    ...Object.values(known.global),
  ];
  return new Set(servers.flatMap(textsOf).flatMap(variablesIn).filter((name) => secrets[name] === undefined));
}

function textsOf({ command, args, env, cwd, url, headers }: ServerEntry): string[] {
  const texts = [command, ...args ?? [], ...Object.values(env ?? {}), cwd, url, ...Object.values(headers ?? {})];
  return texts.filter((text) => text !== undefined);
}

/** Where a server was found, in words. */
export function originText({ source }: Pick<Origin, "source">): string {
  return `${CLIENT_NAMES[source.client]} (${source.scope})`;
}
