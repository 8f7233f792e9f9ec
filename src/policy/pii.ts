import { isObject } from "../model/mod.ts";
import { createHmac } from "node:crypto";
import { findPii, type Found, type PiiPattern, TOKEN } from "./pii_find.ts";

export { findPii, type Found, type PiiPattern, readPatterns } from "./pii_find.ts";

/** A value that was hidden, and the token that stands for it. */
export interface Hidden {
  readonly token: string;
  readonly kind: string;
  readonly value: string;
}

export interface HideOptions {
  /** Makes tokens that nobody else can make; with the same key the same spelling has the same token. */
  readonly key: Uint8Array;
  readonly patterns: readonly PiiPattern[];
  /** Values that are known to be personal, and their tokens: they are hidden wherever they stand. */
  readonly known?: ReadonlyMap<string, string>;
  /** Told of every value once. */
  onHidden(hidden: Hidden): void;
}

/**
 * A copy of a JSON value in which tokens stand for everything personal in strings, keys and numbers; the very value
 * when there is nothing. Pictures, sound and binary resources, as MCP sends them, are left alone; bytes that are text are
 * read. A number becomes a string, also in a text that is JSON: a token is no number.
 */
export function hidePii<T>(value: T, { key, patterns, known, onHidden }: HideOptions): T {
  const tokens = new Map<string, string>();
  const values = new Map<string, string>(known);
  const clock = { ms: 0 };
  const tokenOf = (kind: string, text: string) => {
    const before = tokens.get(`${kind}:${text}`);
    if (before) return before;
    const token = makeToken(key, kind, text);
    tokens.set(`${kind}:${text}`, token);
    values.set(text, token);
    onHidden({ token, kind, value: text });
    return token;
  };
  const hideText = (given: string, field: string) => {
    // Whoever reads it as JSON would see the sign.
    const text = given.includes("\\u0040") ? given.replaceAll("\\u0040", "@") : given;
    const found = findPii(text, patterns, field && `${field}: `, clock);
    return found.length ? replaced(text, found, tokenOf) : text;
  };
  const hideNumber = (number: number, field: string) => {
    if (!Number.isSafeInteger(number) || number < LEAST_NUMBER && patterns.length === 0) return number;
    const text = String(number);
    const [found] = findPii(text, patterns, field && `${field}: `, clock);
    return found && found.end - found.start === text.length ? tokenOf(found.kind, text) : number;
  };
  const clean = mapJson(value, hideText, hideNumber, "");
  if (values.size === 0) return clean as T;
  // What was told by its label in one place may stand without one in another.
  const hideKnown = (text: string) => text.replace(NUMBERS, (digits) => values.get(digits) ?? digits);
  const hideKnownNumber = (number: number) => values.get(String(number)) ?? number;
  return mapJson(clean, hideKnown, hideKnownNumber, "") as T;
}

/** Digits as people write long numbers; an address is found without a label. */
const NUMBERS = /\+?\(?\d(?:[ ().-]{0,2}\d){5,22}/g;

/**
 * The values back in the place of their tokens; a token that `lookup` does not know stays. Where a token was encoded
 * for a URL, so is the value. What comes back is not looked at again.
 */
export function restorePii<T>(value: T, lookup: (token: string) => string | undefined): T {
  const restore = (text: string) =>
    text.replace(TOKEN, (written, kind: string, mark: string) => {
      const value = lookup(`[${kind}:${mark}]`);
      if (value === undefined) return written;
      return written.includes("%") ? encodeURIComponent(value.toWellFormed()) : value;
    });
  return mapJson(value, restore, (number) => number, "") as T;
}

/** A smaller one is no phone number. */
const LEAST_NUMBER = 1e6;

// Without i, l, o and u, which are taken for others.
const LETTERS = "abcdefghjkmnpqrstvwxyz";
const SIGNS = `0123456789${LETTERS}`;
const SIGNS_AFTER_THE_FIRST = 11;

/** 59 bits: among a million values, one chance in a million that two share a token. */
function makeToken(key: Uint8Array, kind: string, value: string): string {
  // JSON spells lone surrogates out; as UTF-8 they would all be the same.
  const digest = createHmac("sha256", key).update(JSON.stringify([kind, value])).digest("hex");
  const byte = (i: number) => parseInt(digest.slice(2 * i, 2 * i + 2), 16);
  let mark = LETTERS[parseInt(digest.slice(-8), 16) % LETTERS.length]!;
  for (let i = 0; i < SIGNS_AFTER_THE_FIRST; i++) mark += SIGNS[byte(i) % SIGNS.length];
  return `[${kind}:${mark}]`;
}

function replaced(text: string, found: readonly Found[], tokenOf: (kind: string, value: string) => string): string {
  const isJsonNumber = numbersIn(text);
  const pieces: string[] = [];
  let from = 0;
  for (const { kind, start, end } of found) {
    const value = text.slice(start, end);
    const token = tokenOf(kind, value);
    const isWhole = /^\d+$/.test(value) && !/[\w.+-]/.test(`${text[start - 1] ?? ""}${text[end] ?? ""}`);
    pieces.push(text.slice(from, start), isWhole && isJsonNumber(start) ? `"${token}"` : token);
    from = end;
  }
  return pieces.join("") + text.slice(from);
}

/** Tells of digits, asked from left to right, whether they are a number in JSON: in the text as a whole or its line. */
function numbersIn(text: string): (at: number) => boolean {
  let whole: boolean | undefined;
  let end = 0;
  let inJson = false;
  let inString = false;
  let read = 0;
  return (at) => {
    whole ??= inJson = isJson(text);
    if (!whole && at >= end) {
      const eol = text.indexOf("\n", at);
      end = eol < 0 ? text.length : eol;
      read = text.lastIndexOf("\n", at) + 1;
      inJson = isJson(text.slice(read, end));
      inString = false;
    }
    for (; inJson && read < at; read++) {
      if (text[read] === '"') inString = !inString;
      else if (text[read] === "\\") read++;
    }
    return inJson && !inString;
  };
}

function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text) || !"]}".includes(text.trimEnd().at(-1)!)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

type MapText = (text: string, field: string) => string;
type MapNumber = (number: number, field: string) => string | number;

/** `field` is the name under which a value stands. Parts that stay the same are shared, not copied. */
function mapJson(value: unknown, mapText: MapText, mapNumber: MapNumber, field: string): unknown {
  if (typeof value === "string") return mapText(value, field);
  if (typeof value === "number") return mapNumber(value, field);
  if (Array.isArray(value)) {
    let copy: unknown[] | undefined;
    for (const [i, item] of value.entries()) {
      const mapped = mapJson(item, mapText, mapNumber, field);
      if (copy || !Object.is(mapped, item)) (copy ??= value.slice(0, i)).push(mapped);
    }
    return copy ?? value;
  }
  if (!isObject(value)) return value;
  const keys = Object.keys(value);
  let copy: (readonly [string, unknown])[] | undefined;
  for (const [i, key] of keys.entries()) {
    const item = value[key];
    const newKey = mapText(key, "");
    const mapped = isMedia(value, key, item)
      ? mapMedia(item, value, mapText)
      : mapJson(item, mapText, mapNumber, fieldOf(key, field));
    if (!copy && newKey === key && Object.is(mapped, item)) continue;
    copy ??= keys.slice(0, i).map((before) => [before, value[before]]);
    copy.push([newKey, mapped]);
  }
  // Unlike an assignment, fromEntries makes a plain property of a key such as __proto__.
  return copy ? Object.fromEntries(copy) : value;
}

const LONGEST_FIELD = 64;

/** In `{phone: {number: …}}` the outer name says more. */
function fieldOf(key: string, outer: string): string {
  return /^(?:number|value|raw)$/i.test(key) && outer ? `${outer} number` : key.slice(-LONGEST_FIELD);
}

/** Base64 as MCP has it in pictures, sound and resources. What only stands in such a field is read like the rest. */
function isMedia(holder: Readonly<Record<string, unknown>>, key: string, item: unknown): item is string {
  const { type, uri } = holder;
  const isOne = key === "$bytes" || key === "data" && (type === "image" || type === "audio") ||
    key === "blob" && typeof uri === "string";
  return isOne && typeof item === "string" && !/[^A-Za-z0-9+\/=_\s-]/.test(item);
}

const TEXTUAL =
  /^(?:text\/|application\/(?:json|xml|yaml|x-yaml|csv|x-ndjson|javascript)|[\w.-]+\/[\w.-]+\+(?:json|xml))/i;

/** Bytes as they are, unless they are text: code could read that. */
function mapMedia(item: string, { mimeType }: Readonly<Record<string, unknown>>, mapText: MapText): string {
  if (typeof mimeType !== "string" || !TEXTUAL.test(mimeType)) return item;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.fromBase64(item));
    const mapped = mapText(text, "");
    return mapped === text ? item : new TextEncoder().encode(mapped).toBase64();
  } catch {
    return item;
  }
}
