/** Knows every configured secret and takes them out of text. */
export interface Redactor {
  /** Registers values that must never be shown; short ones are too common to be taken out safely. */
  add(values: Iterable<string>): void;
  redact(text: string): string;
  /** A JSON value without secrets in its strings and keys; the very value when there are none. */
  clean<T>(value: T): T;
  /** Parses JSON, then cleans it: in the text itself a secret may be spelt with escapes, or overlap one. */
  parse(json: string): unknown;
  /** Every form that is taken out, for a redactor in another thread. */
  forms(): string[];
}

const SHORTEST_SECRET = 8;
const REPLACEMENT = "[redacted]";

/** A redactor with no secrets yet. */
export function createRedactor(): Redactor {
  const known = new Set<string>();
  let pattern: RegExp | undefined;
  const redact = (text: string) => pattern ? text.replace(pattern, REPLACEMENT) : text;
  const clean = <T>(value: T): T => pattern ? mapStrings(value, redact) as T : value;
  return {
    redact,
    clean,
    parse(json) {
      const value: unknown = JSON.parse(json);
      return pattern && (json.includes("\\u") || json.search(pattern) >= 0) ? clean(value) : value;
    },
    add(values) {
      const before = known.size;
      for (const value of values) {
        for (const form of forms(value)) known.add(form);
      }
      if (known.size === before) return;
      const longestFirst = [...known].sort((a, b) => b.length - a.length);
      pattern = new RegExp(longestFirst.map((form) => RegExp.escape(form)).join("|"), "g");
    },
    forms: () => [...known],
  };
}

function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, map));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [map(key), mapStrings(item, map)]));
}

/** A secret as it is, as it looks inside JSON, in a URL and in base64; of "Bearer X" also the X alone. */
function forms(value: string): string[] {
  const bare = /^\S+ (\S+)$/.exec(value)?.[1];
  const found = bare ? forms(bare) : [];
  if (value.length < SHORTEST_SECRET) return found;
  const base64 = new TextEncoder().encode(value).toBase64().replace(/=+$/, "");
  const base64url = base64.replaceAll("+", "-").replaceAll("/", "_");
  return [...found, value, ...jsonForms(value), encodeURIComponent(value.toWellFormed()), base64, base64url];
}

/** A text inside JSON, as JavaScript writes it, Go (`&`, `<`, `>` escaped), Python (ASCII only) and PHP (`/` as well). */
function jsonForms(value: string): string[] {
  const plain = JSON.stringify(value).slice(1, -1);
  const escaped = (text: string, which: RegExp) =>
    text.replace(which, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const ascii = escaped(plain, /[^\0-\x7f]/g);
  return [plain, escaped(plain, /[&<>]/g), ascii, ascii.replaceAll("/", "\\/")];
}

/** What an argument looks like without what it says: `{path: string(12), limit: number}`. */
export function shapeOf(value: unknown, depth = 3): string {
  if (value === null) return "null";
  if (typeof value === "string") return `string(${value.length})`;
  if (typeof value !== "object") return typeof value;
  if (Array.isArray(value)) return `array(${value.length})`;
  if (depth === 0) return "object";
  const keys = Object.entries(value).slice(0, 20);
  return `{${keys.map(([key, item]) => `${key.slice(0, 40)}: ${shapeOf(item, depth - 1)}`).join(", ")}}`;
}
