import { requireServer } from "../config/servers.ts";
import { messageOf } from "../model/errors.ts";
import { cut, oneLine } from "../model/text.ts";
import { splitToolId, type Tool } from "../model/tool.ts";
import { judge } from "../policy/rules.ts";
import { buildLexicalIndex, type LexicalIndex, words } from "../vector/lexical.ts";
import type { Session } from "./session.ts";

export interface SearchOptions {
  readonly query: string;
  readonly limit: number;
  readonly server?: string;
}

export interface Found {
  readonly tools: readonly { tool: Tool; score: number }[];
  /** What the asker should know besides: servers that could not be read, tools that policy withholds. */
  readonly notes: readonly string[];
}

/** How long a search waits for servers that nobody has read yet. */
const FIRST_READ_MS = 5_000;

/** Searches everything the session may use. Servers that are not known yet are started once to read their tools. */
export async function findTools(session: Session, options: SearchOptions): Promise<Found> {
  const { tools, notes } = await knownTools(session, options.server);
  const allowed = tools.filter((tool) => judge(session.config.policy, tool.id).kind !== "deny");
  const index = indexOf(session, allowed);
  const byId = new Map(allowed.map((tool) => [tool.id, tool]));
  const named = namedIn(options.query, allowed);
  const ranked = index.search(options.query).filter(({ id }) => !named.includes(byId.get(id)!));
  const best = ranked[0]?.score ?? 0;
  const hits = [
    ...named.map((tool) => ({ tool, score: 1 })),
    ...ranked.filter(({ score }) => score >= best * 0.15).map(({ id, score }) => ({
      tool: byId.get(id)!,
      score: score / best,
    })),
  ].slice(0, options.limit);
  const withheld = tools.filter((tool) => !allowed.includes(tool)).map((tool) => tool.id);
  return {
    tools: hits,
    notes: [
      ...notes,
      ...withheld.length ? [`(withheld by policy.deny: ${cut(withheld.join(", "), 300)})`] : [],
      ...session.loaded.notes.map((note) => `(${note})`),
    ],
  };
}

/** Every tool of the session's servers, with a note for each server that could not be read. */
export async function knownTools(session: Session, only?: string): Promise<{ tools: Tool[]; notes: string[] }> {
  if (only !== undefined) requireServer(session.config, only);
  const entries = session.status().map(({ config }) => config)
    .filter((config) => !config.disabled && (only === undefined || config.name === only));
  const notes: string[] = [];
  const lists = await Promise.all(entries.map(async ({ name }) => {
    const known = await session.known(name);
    if (known) return known.tools;
    // One that failed before is not tried again by a search: that would make everybody wait each time.
    const failure = await session.shared.catalogues.lastFailure(session.config.servers[name]!);
    try {
      if (failure !== undefined) throw new Error(failure);
      return (await withinTime(session.server(name).catalogue())).tools;
    } catch (error) {
      notes.push(`(server "${name}" has no tools to offer: ${oneLine(messageOf(error), 120)})`);
      return [];
    }
  }));
  return { tools: lists.flat(), notes };
}

async function withinTime<T>(promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("it is still starting; try again in a moment")), FIRST_READ_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

const indexes = new WeakMap<Session, { key: string; index: LexicalIndex }>();

/** The session's index, built again only when the tools changed. */
function indexOf(session: Session, tools: readonly Tool[]): LexicalIndex {
  const key = tools.map((tool) => tool.hash).join();
  const cached = indexes.get(session);
  if (cached?.key === key) return cached.index;
  const index = buildLexicalIndex(tools);
  indexes.set(session, { key, index });
  return index;
}

/** The tools that a query names outright, by id or by bare name. */
function namedIn(query: string, tools: readonly Tool[]): Tool[] {
  const asked = new Set(query.split(/[\s,;"'`()]+/).flatMap((word) => [word, word.replace(/[.?!:]+$/, "")]));
  const wholeQuery = words(query).join(" ");
  return tools.filter(({ id }) => {
    const { name } = splitToolId(id);
    return asked.has(id) || (asked.has(name) && /[_-]|[a-z][A-Z]/.test(name)) || words(name).join(" ") === wholeQuery;
  });
}
