import { knownCatalogues, mayBeCalled, type Session, withheldError } from "../call/mod.ts";
import {
  type Address,
  AgentCardsError,
  type Catalogue,
  exposedName,
  exposedUri,
  exposedUriParts,
  isObject,
  type JsonObject,
  mayBeOf,
  nearest,
  oneLine,
  type Tool,
} from "../model/mod.ts";
import { judgeAddress, type Verdict } from "../policy/mod.ts";
import { listPrompts } from "../workflow/mod.ts";

type Kind = "resources" | "templates" | "prompts";
const KEY = { resources: "uri", templates: "uriTemplate", prompts: "name" } as const;

/** True if tools are listed under their servers' own names: there is one server, and the gateway may not be noticed. */
function isPlain({ config }: Session): boolean {
  return config.expose.prefix === "none";
}

/** Every tool that the session may use, as a client sees it, in the order of the configuration and of their servers. */
export async function directTools(session: Session): Promise<JsonObject[]> {
  const { catalogues } = await knownCatalogues(session);
  return catalogues.flatMap(({ catalogue }) => catalogue.tools).filter((tool) => mayBeCalled(session, tool)).map((
    { server, name, title, description, inputSchema, outputSchema, annotations, more },
  ) => ({
    ...more,
    name: isPlain(session) ? name : exposedName(server, name),
    ...title !== undefined && { title },
    description,
    inputSchema,
    ...outputSchema && { outputSchema },
    ...annotations && { annotations },
  }));
}

/** Finds a tool by the name that it was listed under. */
export async function directTool(session: Session, asked: string): Promise<Tool> {
  const find = (catalogues: readonly Catalogue[]) => {
    for (const catalogue of catalogues) {
      const found = isPlain(session)
        ? catalogue.tools.find(({ name }) => name === asked)
        : namesOf(catalogue).get(asked);
      if (found) return found;
    }
  };
  const found = find(inMemory(session)) ??
    find((await knownCatalogues(session)).catalogues.map((one) => one.catalogue)) ??
    find(await starting(session, asked));
  if (found) return found;
  refuseWithheld(session, asked);
  const near = nearest(asked, (await directTools(session)).map(({ name }) => name as string));
  throw new AgentCardsError("TOOL_UNKNOWN", `There is no tool "${oneLine(asked, 100)}"`, {
    hint: near.length ? `Nearest: ${near.join(", ")}.` : "Read the list of tools again.",
  });
}

/** The lists of servers that are still starting and may have the tool: a call waits for them, a list does not. */
async function starting(session: Session, asked: string): Promise<Catalogue[]> {
  const { config: { servers }, shared } = session;
  const late = Object.values(servers).filter((entry) =>
    !entry.disabled && (isPlain(session) || mayBeOf(asked, entry.name)) && !shared.catalogues.peek(entry)
  );
  const read = await Promise.all(
    late.map(({ name }) => session.server(name).catalogue().catch(() => undefined)),
  );
  return read.filter((catalogue) => catalogue !== undefined);
}

/** Throws where a name is that of a tool which waits for a person's review. */
function refuseWithheld(session: Session, asked: string): void {
  for (const { server, withheld } of withheldTools(session)) {
    const seen = isPlain(session) ? withheld.name : exposedName(server, withheld.name);
    if (seen === asked) throw withheldError(server, withheld.name, withheld.why);
  }
}

function withheldTools({ config, shared }: Session) {
  return Object.values(config.servers).filter(({ disabled }) => !disabled).flatMap((entry) =>
    shared.pins.withheldOf(entry).filter(({ kind }) => kind === "tool")
      .map((withheld) => ({ server: entry.name, withheld }))
  );
}

const names = new WeakMap<Catalogue, ReadonlyMap<string, Tool>>();

function namesOf(catalogue: Catalogue): ReadonlyMap<string, Tool> {
  return names.getOrInsertComputed(
    catalogue,
    () => new Map(catalogue.tools.map((tool) => [exposedName(tool.server, tool.name), tool])),
  );
}

function inMemory({ config, shared }: Session): Catalogue[] {
  return Object.values(config.servers).flatMap((entry) =>
    entry.disabled ? [] : shared.catalogues.peek(entry)?.catalogue ?? []
  );
}

/** True if a client is to be told of resources and prompts: it would offer its agent tools for them, which cost tokens. */
export async function hasOffers(session: Session): Promise<boolean> {
  const { config, shared } = session;
  if (!config.expose.resources) return false;
  const enabled = Object.values(config.servers).filter(({ disabled }) => !disabled);
  return (await Promise.all(enabled.map(shared.catalogues.offersMore))).includes(true) ||
    (await listPrompts(session)).length > 0;
}

/** The entries of all servers of one kind besides tools, each under a name that no other has. */
export async function offered(session: Session, kind: Kind): Promise<JsonObject[]> {
  const key = KEY[kind];
  const { catalogues } = await knownCatalogues(session);
  return catalogues.flatMap(({ server, catalogue }) =>
    (catalogue.offers?.[kind] ?? [])
      .filter((entry) => judgeOffer(session, { server, name: entry[key] as string }).kind !== "deny")
      .map((entry) => session.privacy?.hide(entry, server) ?? entry)
      .map((entry) => ({ ...entry, [key]: seen(session, server, kind, entry[key] as string) }))
  );
}

function seen(session: Session, server: string, kind: Kind, name: string): string {
  if (isPlain(session)) return name;
  return kind === "prompts" ? exposedName(server, name) : exposedUri(server, name);
}

/** A server's resource as the client knows it. */
export function seenUri(session: Session, server: string, uri: string): string {
  return seen(session, server, "resources", uri);
}

/** Finds the prompt that a client means. */
export async function promptAddress(session: Session, asked: string): Promise<Address> {
  const { catalogues } = await knownCatalogues(session);
  for (const { server, catalogue } of catalogues) {
    for (const { name } of catalogue.offers?.prompts ?? []) {
      if (seen(session, server, "prompts", name as string) === asked) return { server, name: name as string };
    }
  }
  throw new AgentCardsError("INPUT_INVALID", `There is no prompt "${oneLine(asked, 100)}"`);
}

/**
 * Finds the resource that a client means. A URI that a tool's answer linked to has no server in it; it is found where only
 * one server can be meant.
 */
export async function resourceAddress(session: Session, asked: string): Promise<Address> {
  const { catalogues } = await knownCatalogues(session);
  const offering = catalogues.filter(({ catalogue }) => catalogue.offers);
  const parts = exposedUriParts(asked);
  if (parts && !isPlain(session)) {
    const { server, uri: name } = parts;
    if (offering.some((one) => one.server === server)) return { server, name };
  } else {
    const listing = offering.filter(({ catalogue }) => catalogue.offers?.resources.some(({ uri }) => uri === asked));
    const [one, ...others] = listing.length > 0 ? listing : offering;
    if (one && others.length === 0) return { server: one.server, name: asked };
    if (one && listing.length > 0) {
      const uris = listing.map(({ server }) => exposedUri(server, asked)).join(", ");
      throw new AgentCardsError("INPUT_INVALID", `Several servers have ${oneLine(asked, 200)}: ${uris}`);
    }
  }
  throw new AgentCardsError("INPUT_INVALID", `Resource not found: ${oneLine(asked, 200)}`, { data: { uri: asked } });
}

/** The verdict of policy on a resource or prompt. */
function judgeOffer({ config }: Session, { server, name }: Address): Verdict {
  return judgeAddress(config.policy, server, name);
}

/** The contents of a resource under the names that the client knows. */
export function withSeenUris(session: Session, server: string, result: Record<string, unknown>) {
  if (!Array.isArray(result.contents)) return result;
  const contents = result.contents.map((item: unknown) =>
    isObject(item) && typeof item.uri === "string" ? { ...item, uri: seenUri(session, server, item.uri) } : item
  );
  return { ...result, contents };
}
