import canonicalize from "canonicalize";
import { hash } from "node:crypto";
import { canonicalJson, isObject, type JsonObject } from "../../model/mod.ts";

/** The kinds of texts of a server that a model reads without having asked for them. */
export type PinKind = "tool" | "prompt" | "resource" | "template" | "instructions";

/** The key of a list entry: a tool or prompt by its name, the others by their addresses. */
export const KEYS: Readonly<Record<Exclude<PinKind, "instructions">, string>> = {
  tool: "name",
  prompt: "name",
  resource: "uri",
  template: "uriTemplate",
};

/** Members of a definition that reach no model: icons are pictures, `execution` is not passed on. */
const UNSEEN_OF_TOOLS: ReadonlySet<string> = new Set(["icons", "execution"]);
/** The members of other entries that describe them; size and time of a resource change with its content. */
const SEEN_OF_OTHERS: ReadonlySet<string> = new Set([
  "name",
  "title",
  "description",
  "uri",
  "uriTemplate",
  "mimeType",
  "arguments",
]);

/** The pinned part of a definition, as the server sent it: every member that can reach a model. */
export function pinnedPart(kind: PinKind, raw: JsonObject): JsonObject {
  if (kind === "instructions") return raw;
  const isSeen = (key: string) => kind === "tool" ? !UNSEEN_OF_TOOLS.has(key) : SEEN_OF_OTHERS.has(key);
  return Object.fromEntries(Object.entries(raw).filter(([key, value]) => value !== undefined && isSeen(key)));
}

/** SHA-256 over the canonical JSON (RFC 8785) of a value. */
export function canonicalHash(value: unknown): string {
  return hash("sha256", canonicalText(value));
}

/** RFC 8785 has no text for half of a surrogate pair; a hostile definition may contain one. */
function canonicalText(value: unknown): string {
  try {
    return canonicalize(value) ?? "null";
  } catch {
    return canonicalJson(value);
  }
}

/** The program or address behind a server. */
export interface Identity {
  readonly command?: string | undefined;
  readonly args?: readonly string[] | undefined;
  readonly url?: string | undefined;
  /** The version of the package that a runner resolved, or the version that the server tells. */
  readonly version?: string | undefined;
}

/** The name of a tool that can be pinned: the others cannot be used anyway. */
const TOOL_NAME = /^[\x21-\x7e]{1,128}$/;
const LONGEST_ADDRESS = 2_000;

/** The key of a raw list entry; undefined for an entry that no client is offered. */
export function keyOf(kind: Exclude<PinKind, "instructions">, raw: unknown): string | undefined {
  if (!isObject(raw)) return undefined;
  const key = raw[KEYS[kind]];
  if (typeof key !== "string" || key === "" || key.length > LONGEST_ADDRESS) return undefined;
  return kind === "tool" && !TOOL_NAME.test(key) ? undefined : key;
}
