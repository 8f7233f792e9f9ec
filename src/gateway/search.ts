import { requireServer } from "../config/schema.ts";
import { messageOf } from "../model/errors.ts";
import { cut, oneLine } from "../model/text.ts";
import { within } from "../model/time.ts";
import { type Catalogue, type Tool, WORKFLOW_SERVER } from "../model/tool.ts";
import { judge } from "../policy/rules.ts";
import type { Hit } from "../vector/search_port.ts";
import type { Session } from "./session.ts";

export interface SearchOptions {
  readonly query: string;
  readonly limit: number;
  readonly server?: string;
}

export interface Found {
  readonly tools: readonly Hit[];
  /** When none fits: what came nearest. */
  readonly nearest: readonly Hit[];
  /** What the asker should know besides: servers that could not be read, tools that policy withholds. */
  readonly notes: readonly string[];
}

/** How searches stand in the record of calls. */
export const SEARCH = "agentcards:search_tools";

/** How long a search waits for servers that nobody has read yet. */
const FIRST_READ_MS = 5_000;

/** Searches everything the session may use. Servers that are not known yet are started once to read their tools. */
export async function findTools(session: Session, { query, limit, server }: SearchOptions): Promise<Found> {
  const { tools, notes } = await knownTools(session, server);
  const began = performance.now();
  const { allowed = [], withheld = [] } = Object.groupBy(
    tools,
    (tool) => judge(session.config.policy, tool.id).kind === "deny" ? "withheld" : "allowed",
  );
  const ranking = await session.shared.search.search(allowed, query, limit);
  session.shared.record({ tool: SEARCH, ms: performance.now() - began, ok: true, bytes: 0 });
  return {
    tools: ranking.hits,
    nearest: ranking.nearest,
    notes: [
      ...ranking.note ? [ranking.note] : [],
      ...notes,
      ...withheld.length ? [`(withheld by policy.deny: ${cut(withheld.map(({ id }) => id).join(", "), 300)})`] : [],
      ...session.loaded.notes.map((note) => `(${note})`),
    ],
  };
}

/** Every tool that is known without starting a server. */
export async function toolsInMemory(session: Session): Promise<Tool[]> {
  const names = session.status().map(({ config }) => config).filter(({ disabled }) => !disabled);
  const known = await Promise.all(names.map(({ name }) => session.known(name)));
  return [...known.flatMap((catalogue) => catalogue?.tools ?? []), ...await session.shared.templates.tools()];
}

/** Makes ready what the first search will need. */
export async function warmSearch(session: Session): Promise<void> {
  session.shared.search.prepare(await toolsInMemory(session));
  session.shared.search.warm();
}

/** Every tool of the session's servers, with a note for each server that could not be read. */
export async function knownTools(session: Session, only?: string): Promise<{ tools: Tool[]; notes: string[] }> {
  if (only === WORKFLOW_SERVER) return { tools: [...await session.shared.templates.tools()], notes: [] };
  const { catalogues, notes } = await knownCatalogues(session, only);
  const tools = catalogues.flatMap(({ catalogue }) => catalogue.tools);
  return { tools: [...tools, ...only === undefined ? await session.shared.templates.tools() : []], notes };
}

export interface KnownCatalogues {
  readonly catalogues: readonly { readonly server: string; readonly catalogue: Catalogue }[];
  /** One for each server that could not be read. */
  readonly notes: string[];
}

/** What the session's servers offer, in the order of the configuration. */
export async function knownCatalogues(session: Session, only?: string): Promise<KnownCatalogues> {
  if (only !== undefined) requireServer(session.config, only);
  const entries = session.status().map(({ config }) => config)
    .filter((config) => !config.disabled && (only === undefined || config.name === only));
  const notes: string[] = [];
  const catalogues = await Promise.all(entries.map(async ({ name: server }) => {
    const known = await session.known(server);
    if (known) return { server, catalogue: known };
    // One that failed before is not tried again: that would make everybody wait each time.
    const failure = await session.shared.catalogues.lastFailure(session.config.servers[server]!);
    try {
      if (failure !== undefined) throw new Error(failure);
      const reading = session.server(server).catalogue();
      const late = "it is still starting; try again in a moment";
      return { server, catalogue: await within(reading, FIRST_READ_MS, late) };
    } catch (error) {
      const said = session.privacy?.hide(messageOf(error), server) ?? messageOf(error);
      notes.push(`(server "${server}" has no tools to offer: ${oneLine(said, 120)})`);
    }
  }));
  return { catalogues: catalogues.filter((one) => one !== undefined), notes };
}
