import { requireServer } from "../config/mod.ts";
import {
  type Catalogue,
  cut,
  messageOf,
  oneLine,
  splitWords,
  type Tool,
  within,
  WORKFLOW_SERVER,
} from "../model/mod.ts";
import { effectOf, judge } from "../policy/mod.ts";
import type { Hit, Ranking } from "../vector/mod.ts";
import { withoutVariableNote } from "./code_names.ts";
import { namesakesOf, usedFirst } from "./namesakes.ts";
import type { Session } from "./session.ts";

export interface SearchOptions {
  readonly query: string;
  readonly limit: number;
  readonly server?: string;
}

export interface Found {
  readonly tools: readonly Hit[];
  /** The nearest tools where none fits well, the best first. */
  readonly weak: readonly Hit[];
  /** True if it is likely that no tool serves the request. */
  readonly isUnlikely: boolean;
  /** Tools of other servers with the same name that are not among them, by the id of the tool that is. */
  readonly also?: ReadonlyMap<string, readonly string[]>;
  /** Notes for the agent: servers that could not be read, tools that policy withholds. */
  readonly notes: readonly string[];
}

/** The time that a search waits for servers whose lists were not read yet. */
const FIRST_READ_MS = 5_000;
const FAILED_LATELY_MS = 5 * 60_000;

/** Searches everything the session may use. Servers that are not known yet are started once to read their tools. */
export async function findTools(session: Session, { query, limit, server }: SearchOptions): Promise<Found> {
  const { tools, notes, about } = await knownTools(session, server);
  const { allowed = [], withheld = [] } = Object.groupBy(
    tools,
    (tool) => mayBeCalled(session, tool) ? "allowed" : "withheld",
  );
  const named = serversNamed(session, query);
  const experience = session.shared.experience(session);
  const look = (some: readonly Tool[], most: number) =>
    session.shared.search.search(some, query, most, { about, ...experience && { experience } });
  const ranking = withNamedServers(
    await look(allowed, limit),
    await Promise.all(
      named.map((name) => look(allowed.filter((tool) => tool.server === name), OF_A_NAMED_SERVER)),
    ),
    limit,
  );
  const [hits, weak] = [ranking.hits, ranking.weak].map((some) =>
    // Whoever names a server means it.
    named.length > 0 ? some : usedFirst(some, session.shared.wasUsed)
  ) as [
    readonly Hit[],
    readonly Hit[],
  ];
  return {
    tools: hits,
    weak,
    isUnlikely: ranking.isUnlikely === true && named.length === 0,
    also: namesakesOf([...hits, ...weak], allowed),
    notes: [
      ...ranking.note ? [ranking.note] : [],
      ...notes,
      ...withheldNote(session, withheld),
      ...reviewNote(session, server),
      ...newNote(session, [...hits, ...weak].map(({ tool }) => tool)),
      ...session.loaded.notes.map((note) => `(${note})`),
      ...withoutVariableNote(session),
    ],
  };
}

/** True for a tool that some call of could be allowed. */
export function mayBeCalled(session: Session, tool: Tool): boolean {
  const { config: { policy }, rules } = session;
  return judge(policy, tool.id).kind !== "deny" &&
    rules.impossible({ tool: tool.id, definition: tool, effect: effectOf(policy, tool) }) === undefined;
}

/** A line about tools that policy withholds, where there are any. */
export function withheldNote({ config }: Session, withheld: readonly Tool[]): string[] {
  if (withheld.length === 0) return [];
  const { allow, rules: own } = config.policy;
  const rules = own.length > 0 ? "policy" : allow.length > 0 ? "policy.deny and policy.allow" : "policy.deny";
  return [`(withheld by ${rules}: ${cut(withheld.map(({ id }) => id).join(", "), 300)})`];
}

/** A line about what waits for a person's review, where there is any. */
export function reviewNote({ config, shared }: Session, only?: string): string[] {
  const entries = Object.values(config.servers).filter(({ name, disabled }) => !disabled && (only ?? name) === name);
  const held = entries.flatMap((entry) =>
    shared.pins.withheldOf(entry).filter(({ kind }) => kind !== "instructions")
      .map(({ name, why }) => `${entry.name}:${name} (${why})`)
  );
  if (held.length === 0) return [];
  const command = `agentcards review${only === undefined ? "" : ` ${only}`}`;
  return [`(withheld until a person has looked at it with \`${command}\`: ${cut(oneLine(held.join(", ")), 600)})`];
}

/** A line about hits that their servers added after they were pinned. */
function newNote({ config, shared }: Session, hits: readonly Tool[]): string[] {
  const added = hits.filter(({ server, name }) =>
    Object.hasOwn(config.servers, server) && shared.pins.newOf(config.servers[server]!).includes(name)
  );
  return added.length === 0 ? [] : [`(new since their server was first read: ${added.map(({ id }) => id).join(", ")})`];
}

/** So many tools of a server that a request names are in the answer, wherever they rank. */
const OF_A_NAMED_SERVER = 3;
/** The best hits stay, whichever server was named. */
const KEPT_HITS = 4;

/** The servers whose names stand in a request as words of their own, or a word that is in the name of one alone. */
function serversNamed(session: Session, query: string): string[] {
  const said = splitWords(query).map((word) => word.toLowerCase());
  const names = session.status().filter(({ config }) => !config.disabled).map(({ config }) => config.name);
  const spoken = names.map((name) => splitWords(name).map((word) => word.toLowerCase()));
  return names.filter((_, i) =>
    ` ${said.join(" ")} `.includes(` ${spoken[i]!.join(" ")} `) ||
    spoken[i]!.some((word) =>
      isProper(word) && said.includes(word) && spoken.every((other, j) => j === i || !other.includes(word))
    )
  );
}

/** Words that servers of any service have in their names. */
const COMMON = new Set(
  "tool tools server servers service local remote search data file files code test tests demo main chart calendar time"
    .split(" "),
);

function isProper(word: string): boolean {
  return (word.length >= 4 || /\d/.test(word)) && !COMMON.has(word);
}

/** The ranking with the best tools of servers that were named at its end, if they are not in it already. */
function withNamedServers(found: Ranking, ofServers: readonly Ranking[], limit: number): Ranking {
  const key = found.hits.length > 0 ? "hits" : "weak";
  const there = found[key];
  const named = ofServers.flatMap(({ hits, weak }) => [...hits, ...weak]);
  const more = named.filter(({ tool }) => !there.some((hit) => hit.tool === tool)).slice(
    0,
    Math.max(0, Math.min(Math.ceil(limit / 2), limit - KEPT_HITS)),
  );
  if (more.length === 0) return found;
  // What makes room for them are the last of the others.
  const others = there.filter(({ tool }) => !named.some((hit) => hit.tool === tool));
  const leaving = new Set(others.slice(Math.max(0, others.length - (there.length + more.length - limit))));
  return { ...found, [key]: [...there.filter((hit) => !leaving.has(hit)), ...more].slice(0, limit) };
}

/** The server that a request is nothing but the name of. */
export function serverMeant(session: Session, query: string): string | undefined {
  const said = splitWords(query).filter((word) => !/^(?:servers?|tools?|mcp)$/i.test(word)).join(" ").toLowerCase();
  return serversNamed(session, query).find((name) => splitWords(name).join(" ").toLowerCase() === said);
}

/** One server as a list shows it. */
export interface ServerLine {
  readonly server: string;
  /** None where its tools could not be read. */
  readonly tools: readonly Tool[];
  readonly about?: string;
}

/** The session's servers with their tools, and a note for each that could not be read. */
export async function listServers(session: Session): Promise<{ servers: ServerLine[]; notes: string[] }> {
  const { catalogues, notes } = await knownCatalogues(session);
  const saved = await session.shared.saved.tools(session);
  return {
    servers: [
      ...catalogues.map(({ server, catalogue: { tools, instructions } }) => ({
        server,
        tools: tools.filter((tool) => mayBeCalled(session, tool)),
        ...instructions !== undefined && { about: instructions },
      })),
      ...saved.length > 0 ? [{ server: WORKFLOW_SERVER, tools: saved, about: "Saved workflows." }] : [],
    ],
    notes: [...notes, ...reviewNote(session), ...session.loaded.notes.map((note) => `(${note})`)],
  };
}

/** Every tool that is known without starting a server. */
export async function toolsInMemory(session: Session): Promise<Tool[]> {
  const names = session.status().map(({ config }) => config).filter(({ disabled }) => !disabled);
  const known = await Promise.all(names.map(({ name }) => session.known(name)));
  return [...known.flatMap((catalogue) => catalogue?.tools ?? []), ...await session.shared.saved.tools(session)];
}

/** Makes ready what the first search will need. */
export async function warmSearch(session: Session): Promise<void> {
  session.shared.search.prepare(await toolsInMemory(session));
  session.shared.search.warm();
}

export interface KnownTools {
  readonly tools: Tool[];
  /** One for each server that could not be read. */
  readonly notes: string[];
  /** The instructions of servers, by server. */
  readonly about: ReadonlyMap<string, string>;
}

/** Every tool of the session's servers. */
export async function knownTools(session: Session, only?: string): Promise<KnownTools> {
  if (only === WORKFLOW_SERVER) {
    return { tools: [...await session.shared.saved.tools(session)], notes: [], about: new Map() };
  }
  const { catalogues, notes } = await knownCatalogues(session, only);
  const tools = catalogues.flatMap(({ catalogue }) => catalogue.tools);
  const about = new Map(
    catalogues.flatMap(({ server, catalogue: { instructions } }) =>
      instructions === undefined ? [] : [[server, instructions] as const]
    ),
  );
  return { tools: [...tools, ...only === undefined ? await session.shared.saved.tools(session) : []], notes, about };
}

export interface KnownCatalogues {
  readonly catalogues: readonly { readonly server: string; readonly catalogue: Catalogue }[];
  /** One for each server that could not be read. */
  readonly notes: string[];
}

/** The catalogues of the session's servers, in the order of the configuration. */
export async function knownCatalogues(session: Session, only?: string): Promise<KnownCatalogues> {
  await session.shared.pins.ready();
  if (only !== undefined) requireServer(session.config, only);
  const entries = session.status().map(({ config }) => config)
    .filter((config) => !config.disabled && (only === undefined || config.name === only));
  const notes: string[] = [];
  const catalogues = await Promise.all(entries.map(async ({ name: server }) => {
    const known = await session.known(server);
    if (known) return { server, catalogue: known };
    // One that failed a moment ago is not tried again: that would make everybody wait each time.
    const failure = await session.shared.catalogues.lastFailure(session.config.servers[server]!);
    try {
      if (failure && Date.now() - failure.at < FAILED_LATELY_MS) throw new Error(failure.reason);
      const reading = session.server(server).catalogue();
      const late = "it is still starting; try again in a moment";
      return { server, catalogue: await within(reading, FIRST_READ_MS, late) };
    } catch (error) {
      const said = session.privacy?.hide(messageOf(error), server) ?? messageOf(error);
      notes.push(`(server "${server}" has no tools to offer: ${oneLine(said, only === undefined ? 160 : 600)})`);
    }
  }));
  return { catalogues: catalogues.filter((one) => one !== undefined), notes };
}
