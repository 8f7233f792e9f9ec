import { oneLine, splitToolId } from "../../model/mod.ts";
import type { Sources } from "./judged.ts";

/** A place where values were seen. */
export type Place =
  /** The user's own words, as a hook or an embedding program reports them. */
  | { readonly kind: "user" }
  /** The arguments that an agent wrote by itself. */
  | { readonly kind: "agent" }
  /** A result of a tool, by its id. */
  | { readonly kind: "result"; readonly tool: string };

interface Seen {
  readonly place: Place;
  readonly size: number;
  /** Made when a value is looked for first. */
  text: string | undefined;
  readonly value: unknown;
}

/** The places where the values of a session were seen, in order of time. */
export interface Provenance extends Sources {
  note(place: Place, value: unknown): void;
  /** The same, where the origin of some values is known exactly, such as those of `$OUTPUT`. */
  with(exact: ReadonlyMap<string, string>): Sources;
}

/** So much is remembered of a session; beyond it the oldest results of trusted servers, then the oldest ones, go. */
const MOST_CHARACTERS = 8_000_000;
const MOST_SEEN = 5_000;
/** Of one result so much is looked at. */
const LONGEST_SEEN = 1_000_000;
/** Shorter values, such as 7 or "yes", stand in any text. */
const SHORTEST = 4;
const LONGEST_VALUE = 10_000;

/** Remembers where values were seen. `isTrusted`: servers whose results are believed; `said`: the words of the user. */
export function createProvenance(
  isTrusted: (server: string) => boolean,
  configured: () => string,
  said: () => readonly string[] = () => [],
): Provenance {
  const seen: Seen[] = [];
  let held = 0;

  function trim(): void {
    while (held > MOST_CHARACTERS || seen.length > MOST_SEEN) {
      // What is forgotten of an untrusted server could be taken for the agent's own later: it goes last.
      const at = seen.findIndex(({ place }) => place.kind !== "result");
      held -= seen.splice(Math.max(0, at), 1)[0]!.size;
    }
  }

  function firstPlace(value: unknown): Place | "config" | undefined {
    const needles = needlesOf(value);
    if (needles.length === 0) return undefined;
    const found = seen.find((one) => {
      one.text ??= searchable(one.value);
      return needles.some((needle) => one.text!.includes(needle));
    })?.place;
    const isConfigured = () => needles.some((needle) => configured().includes(needle));
    return found?.kind === "result" && isConfigured() ? "config" : found;
  }

  function isUsers(value: unknown): boolean {
    const needles = needlesOf(value);
    if (said().some((text) => needles.some((needle) => folded(text).includes(needle)))) return true;
    return seen.some((one) => {
      if (one.place.kind !== "user") return false;
      one.text ??= searchable(one.value);
      return needles.some((needle) => one.text!.includes(needle));
    });
  }

  const origin = (value: unknown): string => {
    const place = firstPlace(value);
    if (place === undefined) return "agent";
    if (place === "config") return "config";
    // The user's words are believed whenever they were said.
    return place.kind === "result" ? (isUsers(value) ? "user" : place.tool) : place.kind;
  };
  const isForeign = (from: string) => from.includes(":") && !isTrusted(splitToolId(from).server ?? "");
  const isField = (value: string) => {
    const needle = folded(value.trim());
    const first = seen.find((one) => (one.text ??= searchable(one.value)).includes(needle));
    return first !== undefined && standsAlone(first.text!, needle);
  };
  return {
    isField,
    note(place, value) {
      const size = Math.min(LONGEST_SEEN, roughSize(value));
      seen.push({ place, value, size, text: undefined });
      held += size;
      if (held > MOST_CHARACTERS || seen.length > MOST_SEEN) trim();
    },
    origin,
    untrusted: (value) => isForeign(origin(value)),
    with: (exact) => {
      const originOf = (value: unknown) => exact.get(keyOf(value)) ?? origin(value);
      return { isField, origin: originOf, untrusted: (value) => isForeign(originOf(value)) };
    },
  };
}

/** The key of a value whose origin is known exactly. */
export function keyOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** A value in the spellings in which it may stand in a text. */
function needlesOf(value: unknown): string[] {
  const text = (typeof value === "string" ? value : typeof value === "number" ? String(value) : "").trim();
  if (text.length < SHORTEST || text.length > LONGEST_VALUE || /^(?:true|false|null)$/i.test(text)) return [];
  const spellings = [text, decoded(text), encodeURIComponent(text.toWellFormed())];
  return [...new Set(spellings.map(folded))].filter((one) => one.length >= SHORTEST);
}

function decoded(text: string): string {
  if (!text.includes("%") && !text.includes("+")) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

/** Signs between which a value is a field of its own: those of JSON, YAML, tables and lists. */
const BEFORE_FIELD = /(?:^|[\n"'|,[({:=])[ ]?$/;
const AFTER_FIELD = /^[ ]?(?:$|[\n"'|,\])}])/;

/** True if each place where a text has a value has it as a field. */
function standsAlone(text: string, needle: string): boolean {
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1)) {
    if (!BEFORE_FIELD.test(text.slice(Math.max(0, at - 2), at))) return false;
    if (!AFTER_FIELD.test(text.slice(at + needle.length, at + needle.length + 2))) return false;
  }
  return true;
}

/** Texts are compared without regard to case and white space, which people and models change. */
function folded(text: string): string {
  return text.toLowerCase().replace(/[^\S\n]+/g, " ");
}

/** All texts of a value, for a search. */
function searchable(value: unknown): string {
  const parts: string[] = [];
  let left = LONGEST_SEEN;
  const visit = (one: unknown): void => {
    if (left <= 0) return;
    if (typeof one === "string") {
      parts.push(one.slice(0, left));
      left -= one.length;
      // JSON inside a text: its escapes hide what it says.
      if (/\\["\\/nrtu]/.test(one)) parts.push(unescaped(one.slice(0, LONGEST_SEEN)));
    } else if (Array.isArray(one)) one.forEach(visit);
    else if (typeof one === "object" && one !== null) {
      for (const [name, item] of Object.entries(one)) {
        parts.push(name);
        visit(item);
      }
    } else if (typeof one === "number") parts.push(String(one));
  };
  visit(value);
  return folded(parts.join("\n"));
}

function unescaped(text: string): string {
  return text.replace(
    /\\(?:u([0-9a-fA-F]{4})|(["\\/nrt]))/g,
    (_, code, sign) =>
      code ? String.fromCharCode(parseInt(code, 16)) : { n: "\n", r: "\r", t: "\t" }[sign as string] ?? sign,
  );
}

/** The characters of a value, as far as it costs nothing to count them. */
function roughSize(value: unknown): number {
  let size = 0;
  let steps = 0;
  const visit = (one: unknown): void => {
    if (++steps > 2_000) return;
    if (typeof one === "string") size += one.length;
    else if (Array.isArray(one)) one.forEach(visit);
    else if (typeof one === "object" && one !== null) Object.values(one).forEach(visit);
    else size += 8;
  };
  visit(value);
  return size;
}

/** An origin as a person reads it. */
export function originText(origin: string): string {
  if (origin === "agent") return "the agent itself";
  if (origin === "user") return "the user's words";
  return origin === "config" ? "the configuration" : `a result of ${oneLine(origin, 100)}`;
}
