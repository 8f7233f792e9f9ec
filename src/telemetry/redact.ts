import { createFinder, type Find, SHORTEST_NEEDLE } from "./finder.ts";
import { hasBackslashes, readEscapes, type Reading, spellingsOf, unescaped, withoutBackslashes } from "./spellings.ts";

/** Knows every configured secret and takes them out of text. */
export interface Redactor {
  /** Registers values that must never be shown; short ones are too common to be taken out safely. */
  add(values: Iterable<string>): void;
  redact(text: string): string;
  /** A JSON value without secrets in its strings, keys and media. */
  clean<T>(value: T): T;
  /** Parses JSON, then cleans it: in the text itself a secret may be spelt with escapes, or overlap one. */
  parse(json: string): unknown;
  /** The values that are taken out, for a redactor in another thread. */
  values(): readonly string[];
}

/** Shorter values are too common in texts to be taken out of them. */
export const SHORTEST_SECRET = SHORTEST_NEEDLE;
const REPLACEMENT = "[redacted]";
/** Media that are larger are searched for the secret itself only, not for other spellings of it. */
const LARGEST_DECODED = 1024 * 1024;
/** A longer text with an escaped secret in it is withheld: to find its place would stall everybody. */
const LONGEST_READ = 256 * 1024;
const MEDIA = /"(?:blob|image|audio)"/;
/** A line of base64 that goes on in the next line. */
const WRAPPED = /[A-Za-z0-9+/_-]{16}\r?\n[A-Za-z0-9+/_-]/;
const WRAPPED_IN_JSON = /[A-Za-z0-9+/_-]{16}(?:\\r)?\\n[A-Za-z0-9+/_-]/;
const LINE_ENDS = /(?<=[A-Za-z0-9+/_-])\r?\n(?=[A-Za-z0-9+/_-])/g;
const BASE64_CHARACTER = /[A-Za-z0-9+/_-]/;

/** A redactor with no secrets yet. */
export function createRedactor(): Redactor {
  const known = new Set<string>();
  const needles = new Set<string>();
  const base64 = new Set<string>();
  let find: Find | undefined;
  /** Finds needles in texts whose escapes were read. */
  let findRead: Find | undefined;
  let isWhole = false;

  /** A text without the needles that are found in a reading of it. Of base64 the characters that hold the last bits go, too. */
  function withoutNeedles(source: string, reading: Reading, find: Find): string {
    const { text } = reading;
    const isPart = (needle: string, index: number) =>
      base64.has(needle) && index >= 0 && index < text.length && BASE64_CHARACTER.test(text[index]!);
    let [clean, done, next] = ["", 0, 0];
    for (let found = find(text); found; found = find(text, next)) {
      const { needle, at } = found;
      const end = at + needle.length;
      const first = at > next && isPart(needle, at - 1) ? at - 1 : at;
      next = isPart(needle, end) ? end + 1 : end;
      clean += source.slice(done, Math.max(done, reading.from(first))) + REPLACEMENT;
      done = reading.to(next - 1);
    }
    return next === 0 ? source : clean + source.slice(done);
  }

  function redact(text: string): string {
    if (!find || text.length < SHORTEST_SECRET) return text;
    if (holdsWrapped(text, find)) return REPLACEMENT;
    const clean = withoutNeedles(text, { text, from: (index) => index, to: (index) => index + 1 }, find);
    if (!holdsEscaped(clean)) return clean;
    if (clean.length > LONGEST_READ) return REPLACEMENT;
    const cleaner = withoutNeedles(clean, readEscapes(clean, isWhole), findRead!);
    return holdsEscaped(cleaner) ? REPLACEMENT : cleaner;
  }

  /** True if a needle is in base64 that is broken into lines. */
  function holdsWrapped(text: string, find: Find): boolean {
    if (!WRAPPED.test(text)) return false;
    const joined = text.replace(LINE_ENDS, "");
    for (let found = find(joined); found; found = find(joined, found.at + 1)) {
      if (base64.has(found.needle) && !text.includes(found.needle)) return true;
    }
    return false;
  }

  /** True if a text contains a needle after its escapes are decoded. */
  function holdsEscaped(text: string): boolean {
    const read = unescaped(text, isWhole);
    return read !== undefined && findRead!(read) !== undefined;
  }

  const clean = <T>(value: T): T => find ? mapParts(value) as T : value;

  function mapParts(value: unknown): unknown {
    if (typeof value === "string") return redact(value);
    if (Array.isArray(value)) return value.map(mapParts);
    if (typeof value !== "object" || value === null) return value;
    return withheld(value as Record<string, unknown>) ??
      Object.fromEntries(Object.entries(value).map(([key, item]) => [redact(key), mapParts(item)]));
  }

  /** A text in the place of an image, a sound or a file that holds a secret: redaction would break its base64. */
  function withheld(part: Record<string, unknown>): Record<string, unknown> | undefined {
    const { type, data, blob, mimeType: _type, ...rest } = part;
    if (typeof blob === "string" && holds(blob)) {
      return { ...clean(rest), mimeType: "text/plain", text: `${REPLACEMENT} This file held a configured secret.` };
    }
    if ((type === "image" || type === "audio") && typeof data === "string" && holds(data)) {
      return { type: "text", text: `${REPLACEMENT} This ${type} held a configured secret.` };
    }
    return undefined;
  }

  function holds(data: string): boolean {
    if (redact(data) !== data) return true;
    if (data.length > LARGEST_DECODED * 4 / 3) return false;
    try {
      // Byte by byte: the secret itself was found in the base64 already, and its other spellings are ASCII.
      const text = atob(data);
      return redact(text) !== text;
    } catch {
      // It is no base64, and was looked at as text.
      return false;
    }
  }

  function mayHold(json: string, find: Find): boolean {
    return find(json) !== undefined || MEDIA.test(json) || WRAPPED_IN_JSON.test(json) || holdsEscaped(json);
  }

  return {
    redact,
    clean,
    parse(json) {
      const value: unknown = JSON.parse(json);
      return find && mayHold(json, find) ? clean(value) : value;
    },
    add(values) {
      const before = needles.size;
      for (const value of values) {
        if (!isSecret(value) || known.has(value)) continue;
        known.add(value);
        isWhole ||= hasBackslashes(value);
        const spelt = spellingsOf(value);
        for (const needle of spelt.base64) base64.add(needle);
        for (const needle of [...spelt.plain, ...spelt.hex, ...spelt.base64]) needles.add(needle);
      }
      if (needles.size === before) return;
      find = createFinder(needles);
      findRead = createFinder([...needles].map(withoutBackslashes).filter(isSecret));
    },
    values: () => [...known],
  };
}

/** True if a value is long enough to be redacted. */
export function isSecret(value: string): boolean {
  return value.length >= SHORTEST_SECRET;
}

/** The shape of an argument without its values: `{path: string(12), limit: number}`. */
export function shapeOf(value: unknown, depth = 3): string {
  if (value === null) return "null";
  if (typeof value === "string") return `string(${value.length})`;
  if (typeof value !== "object") return typeof value;
  if (Array.isArray(value)) return `array(${value.length})`;
  if (depth === 0) return "object";
  const keys = Object.entries(value).slice(0, 20);
  return `{${keys.map(([key, item]) => `${key.slice(0, 40)}: ${shapeOf(item, depth - 1)}`).join(", ")}}`;
}
