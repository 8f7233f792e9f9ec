import { isObject } from "./json.ts";
import { codesOf, sanitise } from "./text.ts";

/**
 * The characters of a result that hide text or change how text is shown: controls, bidirectional overrides, tags. The
 * tags of a flag emoji are text, and so are joiners and variation selectors.
 */
const HIDING =
  // deno-lint-ignore no-control-regex
  /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}|[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;

/** The same in JSON text, where controls are escapes; by code units, which is quicker, and with some false alarms. */
const HIDING_IN_JSON = /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]|\udb40[\udc00-\udc7f]|\\(?:u00[01]|b)/;

/** A text whose hiding characters are written as escapes such as `\u202e`. */
export function visible(text: string): string {
  return text.replace(HIDING, (found) => found.startsWith("\u{1f3f4}") ? found : codesOf(found));
}

/** A value whose hiding characters are written as escapes; undefined where it has none. `json`: the value as JSON. */
export function madeVisible<T>(value: T, json: string): T | undefined {
  if (!HIDING_IN_JSON.test(json)) return undefined;
  const shown = mapTexts(value, visible);
  return shown === value ? undefined : shown as T;
}

/** A value without invisible characters, in keys too; the value itself where it has none. */
export function withoutInvisible<T>(value: T): T {
  return mapTexts(value, sanitise) as T;
}

/** A JSON value with every string and key mapped. Parts that stay the same are shared, not copied. */
function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) {
    const items = value.map((item) => mapTexts(item, map));
    return items.every((item, i) => Object.is(item, value[i])) ? value : items;
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  const mapped = entries.map(([key, item]) => [map(key), mapTexts(item, map)] as const);
  const isSame = mapped.every(([key, item], i) => key === entries[i]![0] && Object.is(item, entries[i]![1]));
  // Unlike an assignment, fromEntries makes a plain property of a key such as __proto__.
  return isSame ? value : Object.fromEntries(mapped);
}
