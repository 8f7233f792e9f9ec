import { AgentCardsError, canonicalJson, messageOf } from "../model/mod.ts";
import { replaceFile as replace } from "../platform/mod.ts";
import { fs } from "../platform/start.ts";
import { dirname } from "node:path";
import { Document, isMap, isSeq, parseDocument } from "yaml";
import { parseConfig } from "./read.ts";
import type { ConfigFile } from "./schema.ts";

type Servers = NonNullable<ConfigFile["servers"]>;

/** What goes into a configuration file on top of what is there. */
export interface Additions {
  readonly servers: Readonly<Servers>;
  /** True: every client may see these servers, those that are there already, too. */
  readonly isShared?: boolean;
  readonly deny: readonly string[];
  readonly approve: readonly string[];
  /** Tools that a client was allowed to call unasked, which become rules. */
  readonly allow?: readonly string[];
}

/** The name of rules that hold what a client's settings allowed. */
const ALLOWED_BEFORE = "allowed in the client before";
/** The most patterns of one rule. */
const MOST_PATTERNS = 100;

/**
 * The file's text with the additions, its comments and order kept. A server that is there already is left alone, except
 * that it is for the clients of both.
 */
export function mergeConfig(text: string, additions: Additions, path: string): string {
  const known = parseConfig(text, path);
  const servers = Object.entries(additions.servers).filter(([name]) => !Object.hasOwn(known.servers ?? {}, name));
  const deny = additions.deny.filter((pattern) => !known.policy?.deny?.includes(pattern));
  const approve = additions.approve.filter((pattern) => !known.policy?.approve?.includes(pattern));
  const widened = widenedClients(additions, known.servers ?? {});
  const rules = (known.policy?.rules ?? []).filter(({ name }) => name.startsWith(ALLOWED_BEFORE));
  const allowed = new Set(rules.flatMap(({ match }) => match));
  const allow = [...new Set(additions.allow)].filter((pattern) => !allowed.has(pattern));
  if (servers.length + deny.length + approve.length + widened.length + allow.length === 0) return text;

  const document = text.trim() === "" ? new Document({}) : parseDocument(text);
  if (!isMap(document.contents)) {
    const comment = document.commentBefore;
    document.contents = document.createNode({});
    document.commentBefore = comment;
  }
  for (const [name, server] of servers) document.setIn(["servers", name], document.createNode(server));
  for (const [name, clients] of widened) {
    if (clients) document.setIn(["servers", name, "clients"], document.createNode(clients, { flow: true }));
    else document.deleteIn(["servers", name, "clients"]);
  }
  for (const [list, patterns] of [["deny", deny], ["approve", approve]] as const) {
    const at = ["policy", list];
    if (patterns.length > 0 && !isSeq(document.getIn(at, true))) document.setIn(at, document.createNode([]));
    for (const pattern of new Set(patterns)) document.addIn(at, pattern);
  }
  if (allow.length > 0 && !isSeq(document.getIn(["policy", "rules"], true))) {
    document.setIn(["policy", "rules"], document.createNode([]));
  }
  for (let at = 0, count = rules.length; at < allow.length; at += MOST_PATTERNS, count++) {
    const name = count === 0 ? ALLOWED_BEFORE : `${ALLOWED_BEFORE} (${count + 1})`;
    const match = allow.slice(at, at + MOST_PATTERNS);
    document.addIn(["policy", "rules"], document.createNode({ name, match, then: "allow" }));
  }
  const merged = document.toString({ lineWidth: 0, flowCollectionPadding: true });
  parseConfig(merged, path);
  return merged;
}

/** The servers that are there and get more clients, with their clients from now on; undefined for all. */
function widenedClients({ servers, isShared }: Additions, known: Servers): [string, string[] | undefined][] {
  return Object.entries(servers).flatMap(([name, { clients = [] }]): [string, string[] | undefined][] => {
    const before = Object.hasOwn(known, name) ? known[name]!.clients : undefined;
    if (!before) return [];
    const after = [...new Set([...before, ...clients])];
    return isShared ? [[name, undefined]] : after.length > before.length ? [[name, after]] : [];
  });
}

/** The file's text without these servers, its comments and order kept. */
export function removeServers(text: string, names: readonly string[], path: string): string {
  const known = parseConfig(text, path).servers ?? {};
  const there = names.filter((name) => Object.hasOwn(known, name));
  if (there.length === 0) return text;
  const document = parseDocument(text);
  for (const name of there) document.deleteIn(["servers", name]);
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

/** The file's text with a server switched on or off, its comments and order kept. */
export function switchServer(text: string, name: string, isOn: boolean): string {
  const document = parseDocument(text);
  if (isOn) document.deleteIn(["servers", name, "disabled"]);
  else document.setIn(["servers", name, "disabled"], true);
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

/** Writes the address of the database into a configuration file, or takes it out. */
export async function setDatabase(path: string, address: string | undefined): Promise<void> {
  const before = await fs.readTextFile(path).catch((error) => {
    if (fs.isNotFound(error)) return "";
    throw error;
  });
  const document = before.trim() === "" ? new Document({}) : parseDocument(before);
  if (!isMap(document.contents)) document.contents = document.createNode({});
  if (address === undefined) document.delete("database");
  else document.set("database", address);
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: true });
  parseConfig(text, path);
  await writeConfig(path, text);
}

/** A server that looks for a name, with the tags that may tell it from another of the same name. */
export interface Nameless {
  readonly name: string;
  readonly server: Servers[string];
  readonly tags: readonly string[];
}

/** Its own name when that is free or means the same already (switched on or off), else with the first tag that is. */
export function settleName({ name, server, tags }: Nameless, taken: Readonly<Servers>): string {
  const fits = (candidate: string) => {
    if (RESERVED.has(candidate)) return false;
    const other = Object.hasOwn(taken, candidate) ? taken[candidate] : undefined;
    return !other || definition(other) === definition(server);
  };
  const candidates = [name, ...tags.map((tag) => tagged(name, tag))];
  for (const candidate of candidates) if (fits(candidate)) return candidate;
  for (let n = 2;; n++) if (fits(tagged(name, String(n)))) return tagged(name, String(n));
}

function definition({ disabled: _, clients: _clients, ...rest }: Servers[string]): string {
  return canonicalJson(rest);
}

const RESERVED = new Set(["agentcards", "workflow"]);
const MAX_NAME = 64;

function tagged(name: string, tag: string): string {
  return `${name.slice(0, MAX_NAME - tag.length - 1)}-${tag}`;
}

/** Writes a configuration file that others cannot read, in one step. */
export async function writeConfig(path: string, text: string, mode = 0o600): Promise<void> {
  parseConfig(text, path);
  await fs.mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, new TextEncoder().encode(text), mode);
}

/** Replaces a file of the user's in one step. */
export async function replaceFile(path: string, bytes: Uint8Array, mode?: number): Promise<void> {
  try {
    await replace(path, bytes, mode === undefined ? {} : { mode });
  } catch (cause) {
    throw new AgentCardsError("CONFIG_INVALID", `Cannot write ${path}: ${messageOf(cause)}`, {
      cause,
      hint: "The file is as it was. Make its folder writable and free some space.",
    });
  }
}
