import { splitToolId, toolId } from "../model/mod.ts";
import { isListed, judgeRules, type Rules, strictest, type Verdict } from "./rules/lists.ts";

/** A server may decode an address once more than its client, but hardly more often. */
const MOST_DECODINGS = 3;

/**
 * Judges the address of a resource or the name of a prompt in every way it can be spelt, and the strictest word counts:
 * one spelling that is denied denies it, and what is allowed must be allowed in every spelling.
 */
export function judgeAddress(rules: Rules, server: string, address: string): Verdict {
  if (rules.deny.length + rules.approve.length + (rules.allow?.length ?? 0) === 0) return { kind: "allow" };
  const all = spellings(address);
  const files = [...new Set(all.flatMap(pathsOf))].map((path) => `file://${path}`);
  const ids = all.map((spelling) => toolId(server, spelling));
  const verdict = strictest([...ids, ...files.map((file) => toolId(server, file))].map((id) => judgeRules(rules, id)));
  if (verdict.kind === "deny" || !rules.allow?.length) return verdict;
  const allowed = /^file:/i.test(address) ? [...ids, ...files.map((file) => toolId(server, file))] : ids;
  const passes = rules.allow.every((list) => allowed.every((id) => isListed(list, id, readings)));
  return passes ? verdict : { kind: "deny" };
}

/** The ways in which an address can be spelt: as it is, normal, decoded, with its runs of slashes made one. */
export function spellings(address: string): string[] {
  const found = new Set<string>();
  let now = address;
  for (let round = 0; round <= MOST_DECODINGS; round++) {
    for (const one of [now, now.replaceAll("\\", "/")]) {
      for (const other of [one, joined(one), normal(one), normal(joined(one)), joined(normal(one))]) found.add(other);
    }
    const next = decoded(now);
    if (next === now) break;
    now = next;
  }
  return [...found];
}

/** The ways in which a pattern can be read: a person writes spaces or their escapes. */
function readings(pattern: string): string[] {
  const { server, name } = splitToolId(pattern);
  if (server === undefined) return [pattern];
  return [...new Set([name, decoded(name), encoded(decoded(name))])].map((way) => toolId(server, way));
}

function encoded(text: string): string {
  try {
    return encodeURI(text);
  } catch {
    return text;
  }
}

/** The paths that a server may read out of an address, whatever its scheme, host or drive letter is. */
function pathsOf(address: string): string[] {
  const [, path = ""] = /^(?:[a-z][a-z0-9+.-]*:)?(?:\/\/[^/]*)?(\/[^?#]*)/i.exec(address) ?? [];
  if (path === "") return [];
  const bare = path.replace(/^\/+[a-z]:(?=\/)/i, "");
  return [...new Set([path, bare])].map(withoutDots);
}

/** A path without `.`, `..` and empty segments. */
function withoutDots(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") kept.pop();
    else if (segment !== "." && segment !== "") kept.push(segment);
  }
  return `/${kept.join("/")}`;
}

function normal(address: string): string {
  return URL.parse(address)?.href ?? address;
}

/** Runs of slashes as one; the two behind a scheme, and the third of `file:///`, stay. */
function joined(address: string): string {
  const [, scheme = "", rest = ""] = /^([a-z][a-z0-9+.-]*:\/\/(?=[^/])|[a-z][a-z0-9+.-]*:\/\/\/|)([^]*)$/i.exec(
    address,
  )!;
  return scheme + (scheme.endsWith("///") ? rest.replace(/^\/+/, "") : rest).replace(/\/{2,}/g, "/");
}

/** Every escape that is one, decoded; what is none stays. */
function decoded(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      // An escape that is no text must not keep its neighbours from being read.
      return escapes.replace(/%[0-7][0-9a-f]/gi, (escape) => String.fromCharCode(parseInt(escape.slice(1), 16)));
    }
  });
}
