// The ways in which programs write the same text.
import { SHORTEST_NEEDLE } from "./finder.ts";

const encoder = new TextEncoder();

/** What a secret looks like where it was encoded as a whole: each of them is looked for as it is. */
export interface Spellings {
  /** The secret as text: any of its characters may be escaped besides. */
  readonly plain: readonly string[];
  readonly hex: readonly string[];
  /** The part of its base64 that is the same whatever stands before and behind it. */
  readonly base64: readonly string[];
}

export function spellingsOf(secret: string): Spellings {
  const value = secret.toWellFormed();
  // A form writes a blank as a plus.
  const texts = [secret, value, value.replaceAll(" ", "+")].flatMap((
    text,
  ) => [text, text.normalize("NFC"), text.normalize("NFD")]);
  const plain = [...new Set([...texts, ...texts.map((text) => JSON.stringify(text).slice(1, -1))])];
  const bytes = encoder.encode(value);
  const hex = bytes.toHex();
  return {
    plain: plain.filter(isLongEnough),
    hex: [hex, hex.toUpperCase()],
    base64: [0, 1, 2].flatMap((offset) => alignedBase64(bytes, offset)).filter(isLongEnough),
  };
}

const isLongEnough = (text: string) => text.length >= SHORTEST_NEEDLE;

/** The characters of base64, in both alphabets, that hold bits of these bytes only when `offset` bytes stand before them. */
function alignedBase64(bytes: Uint8Array, offset: number): string[] {
  const padded = new Uint8Array(offset + bytes.length);
  padded.set(bytes, offset);
  const [first, end] = [Math.ceil(offset * 8 / 6), Math.floor(padded.length * 8 / 6)];
  return (["base64", "base64url"] as const).map((alphabet) => padded.toBase64({ alphabet }).slice(first, end));
}

/** Escapes of single characters: those of JSON and JavaScript, of URLs, of HTML. No quantifier may meet its own kind. */
const ESCAPE = /\\u([0-9a-f]{4})|((?:%[0-9a-f]{2})+)|&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));|\\(\/)/gi;
/** The same, and every backslash: for secrets with a character that JSON writes with one. */
const ESCAPE_OR_BACKSLASH = new RegExp(`${ESCAPE.source}|\\\\([nrtbf]?)`, "gi");
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" };

/** True for a text in which JSON escapes a character with a backslash and no code. */
export function hasBackslashes(text: string): boolean {
  return /["\\\p{Cc}]/u.test(text);
}

/** A text as it is compared with `unescaped` ones: they have lost their backslashes. */
export function withoutBackslashes(text: string): string {
  return text.replaceAll("\\", "");
}

/**
 * A text with its escapes read and without backslashes, however often they were escaped themselves; undefined where it has
 * no escapes. `isWhole`: a backslash alone counts as one.
 */
export function unescaped(text: string, isWhole: boolean): string | undefined {
  const escape = isWhole ? ESCAPE_OR_BACKSLASH : ESCAPE;
  if (text.search(escape) < 0) return undefined;
  const read = text.replace(escape, (whole, unit, percent, decimal, hex, entity, slash, control) => {
    if (unit !== undefined) return String.fromCharCode(parseInt(unit, 16));
    if (percent !== undefined) return readPercent(percent);
    if (entity !== undefined) return ENTITIES[entity.toLowerCase()]!;
    if (slash !== undefined) return slash;
    if (decimal === undefined && hex === undefined) return CONTROLS[control] ?? control;
    const point = decimal === undefined ? parseInt(hex, 16) : Number(decimal);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
  return withoutBackslashes(read);
}

const decoder = new TextDecoder();

function readPercent(text: string): string {
  const byte = text.length === 3 ? parseInt(text.slice(1), 16) : 0xff;
  return byte < 0x80 ? String.fromCharCode(byte) : decoder.decode(Uint8Array.fromHex(text.replaceAll("%", "")));
}

/** Backslashes, escaped themselves or not, which may stand before any character. Bounded: a server may send a million. */
const BACKSLASHES = "(?:\\\\{1,16}[uU]005[cC]|%5[cC]|&#92;|\\\\){0,16}";

/** Finds a text in which any character may be escaped in any of those ways. */
export function escapedPattern(text: string): RegExp {
  return new RegExp([...text].map((char) => `${BACKSLASHES}(?:${waysToWrite(char).join("|")})`).join(""), "g");
}

function waysToWrite(char: string): string[] {
  const point = char.codePointAt(0)!;
  const units = Array.from({ length: char.length }, (_, i) => char.charCodeAt(i));
  const name = Object.keys(ENTITIES).find((entity) => ENTITIES[entity] === char);
  const control = Object.keys(CONTROLS).find((letter) => CONTROLS[letter] === char);
  const percent = [...encoder.encode(char)].map((byte) => `%${anyCase(byte.toString(16).padStart(2, "0"))}`);
  return [
    RegExp.escape(char),
    units.map((unit) => `[uU]${anyCase(unit.toString(16).padStart(4, "0"))}`).join("\\\\{1,16}"),
    percent.join(""),
    `&#0{0,6}${point};`,
    `&#[xX]0{0,6}${anyCase(point.toString(16))};`,
    ...name === undefined ? [] : [`&${anyCase(name)};`],
    ...control === undefined ? [] : [control],
  ];
}

function anyCase(letters: string): string {
  return letters.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}
