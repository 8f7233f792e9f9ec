/** A problem with a value at a place, as validators report it. */
export interface PlacedProblem {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly expected?: unknown;
}

const WANTED: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  record: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  array: Array.isArray,
  number: (value) => typeof value === "number",
  int: Number.isInteger,
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};
const LONGEST = 4 * 1_048_576;

/** The JSON value that a text holds, if that is of the wanted type. */
export function meant(text: string, wanted: string): { readonly value: unknown } | undefined {
  const fits = Object.hasOwn(WANTED, wanted) ? WANTED[wanted] : undefined;
  if (!fits || text.length > LONGEST) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    // A long number would lose digits, and with them be another number.
    if (typeof value === "number" && String(value) !== text.trim()) return undefined;
    return fits(value) ? { value } : undefined;
  } catch {
    return undefined;
  }
}

/** A schema that can be asked whether a value fits, as those of zod can. */
interface Schema<R> {
  safeParse(value: unknown): R & ({ success: true } | { success: false; error: { issues: readonly PlacedProblem[] } });
}

/** A value inside a text can be a text again: `{"options": "{\"timeout_ms\": \"5\"}"}`. */
const MOST_ROUNDS = 4;

/** Parses a value, with texts read as the JSON they hold wherever another type is wanted. */
export function parseMeaning<R>(schema: Schema<R>, input: unknown): ReturnType<Schema<R>["safeParse"]> {
  let value = input;
  for (let round = 0;; round++) {
    const parsed = schema.safeParse(value);
    const meaning = parsed.success || round === MOST_ROUNDS ? undefined : withMeanings(value, parsed.error.issues);
    if (meaning === undefined) return parsed;
    value = meaning;
  }
}

/** The input with texts replaced by the JSON they hold; undefined where there was none to replace. */
function withMeanings(input: unknown, problems: readonly PlacedProblem[]): unknown {
  let changed = input;
  for (const { code, path, expected } of problems) {
    if (code !== "invalid_type" || typeof expected !== "string") continue;
    const text = path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | null)?.[key], changed);
    const found = typeof text === "string" ? meant(text, expected) : undefined;
    if (found) changed = replaced(changed, path, found.value);
  }
  return changed === input ? undefined : changed;
}

function replaced(value: unknown, [key, ...rest]: readonly PropertyKey[], by: unknown): unknown {
  if (key === undefined) return by;
  if (Array.isArray(value)) return value.with(Number(key), replaced(value[Number(key)], rest, by));
  const record = value as Record<PropertyKey, unknown>;
  return { ...record, [key]: replaced(record[key], rest, by) };
}
