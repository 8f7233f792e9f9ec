import { createHash } from "node:crypto";
import { isObject } from "./json.ts";
import { spelledOut } from "./text.ts";

/** Arguments as a person sees them, and how many of their values are not there whole. */
export interface Folded {
  readonly text: string;
  readonly folded: number;
}

/** The arguments of a call fit into a dialogue as a rule. */
const ROOM = 3_000;
/** More arguments than these cannot all be named in a dialogue. */
const MOST_ARGUMENTS = 100;
const LEAST_ROOM = 40;
const NAME_ROOM = 80;
/** A text inside of an argument that is longer is folded by itself, so that what stands around it can be seen. */
const INNER_ROOM = 80;
const MOST_PARTS = 300;

/**
 * Arguments with nothing hidden: every one is there by its name, the short ones whole. A long value is folded: its
 * beginning and end, its length and its SHA-256. Invisible characters are spelt out. Undefined where not even the names
 * fit.
 */
export function foldArguments(given: Readonly<Record<string, unknown>>, room = ROOM): Folded | undefined {
  if (room !== ROOM) return foldInto(given, room);
  // A call is looked at more than once, and the hash of a long value takes its time.
  const known = usual.get(given);
  if (known) return known.folded;
  const folded = foldInto(given, room);
  usual.set(given, { folded });
  return folded;
}

const usual = new WeakMap<Readonly<Record<string, unknown>>, { readonly folded: Folded | undefined }>();

function foldInto(given: Readonly<Record<string, unknown>>, room: number): Folded | undefined {
  const entries = Object.entries(given);
  const values = entries.map(([, value]) => JSON.stringify(value) ?? "");
  const size = values.reduce((sum, json, i) => sum + json.length + entries[i]![0].length + 8, 0);
  if (size <= room) {
    const whole = spelledOut(JSON.stringify(given, null, 2));
    if (whole.length <= 2 * room) return { text: whole, folded: 0 };
  }
  if (entries.length > MOST_ARGUMENTS) return undefined;
  const rooms = roomsFor(values.map(({ length }) => length), room);
  let folded = 0;
  const lines = entries.map(([name, value], i) => {
    const isWhole = values[i]!.length <= rooms[i]!;
    const text = isWhole ? spelledOut(values[i]!) : foldedValue(value, values[i]!, rooms[i]!);
    const isLong = isWhole && text.length > 2 * rooms[i]!;
    if (!isWhole || isLong || name.length > NAME_ROOM) folded++;
    return `${spelt(fold(name, NAME_ROOM))}: ${isLong ? spelt(fold(values[i]!, Math.ceil(rooms[i]! / 6))) : text}`;
  });
  return { text: lines.join("\n"), folded };
}

/** A fair share for each: what the short ones do not need goes to the longer ones. */
function roomsFor(sizes: readonly number[], room: number): number[] {
  const rooms = sizes.map(() => 0);
  let left = room;
  const order = sizes.map((_, i) => i).sort((a, b) => sizes[a]! - sizes[b]!);
  order.forEach((i, at) => {
    rooms[i] = Math.max(LEAST_ROOM, Math.min(sizes[i]!, Math.floor(left / (sizes.length - at))));
    left -= rooms[i]!;
  });
  return rooms;
}

function foldedValue(value: unknown, json: string, room: number): string {
  if (typeof value === "string") return `"${spelt(fold(value, room))}"`;
  const inner = { parts: 0 };
  const outline = JSON.stringify(withFoldedTexts(value, inner));
  return spelt(
    outline !== undefined && inner.parts <= MOST_PARTS && outline.length <= 2 * room ? outline : fold(json, room),
  );
}

/** A value whose long texts are folded; what has too many parts is given up. */
function withFoldedTexts(value: unknown, count: { parts: number }): unknown {
  if (++count.parts > MOST_PARTS) return undefined;
  if (typeof value === "string") return value.length > 2 * INNER_ROOM ? fold(value, INNER_ROOM) : value;
  if (Array.isArray(value)) {
    return value.length > MOST_PARTS
      ? (count.parts = Infinity, undefined)
      : value.map((item) => withFoldedTexts(item, count));
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).slice(0, MOST_PARTS + 1).map(([key, item]) => [
      fold(key, NAME_ROOM),
      withFoldedTexts(item, count),
    ]),
  );
}

/** A text within its room: its beginning and end, and between them how much is left out of what. */
function fold(text: string, room: number): string {
  if (text.length <= room) return text;
  const [head, tail] = [Math.ceil(room * 2 / 3), Math.floor(room / 3)];
  const left = (text.length - head - tail).toLocaleString("en-US");
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
  const about = `${left} characters are not shown here, of ${text.length.toLocaleString("en-US")}, SHA-256 ${hash}`;
  return `${text.slice(0, head)} … [${about}] … ${tail > 0 ? text.slice(-tail) : ""}`;
}

function spelt(text: string): string {
  return spelledOut(text);
}
