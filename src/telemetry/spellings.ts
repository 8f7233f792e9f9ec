// The ways in which programs write the same text.
import { SHORTEST_NEEDLE } from "./finder.ts";

const encoder = new TextEncoder();

/** The encodings of a whole secret; each is searched for as it is. */
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
  // In encoded JSON the secret has the escapes of JSON.
  const encoded = [bytes, encoder.encode(JSON.stringify(value).slice(1, -1))];
  const hex = bytes.toHex();
  return {
    plain: plain.filter(isLongEnough),
    hex: [hex, hex.toUpperCase()],
    base64: [...new Set(encoded.flatMap((one) => [0, 1, 2].flatMap((offset) => alignedBase64(one, offset))))]
      .filter(isLongEnough),
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

/** Escapes of single characters: those of JSON and JavaScript, of URLs, of HTML. None may take more than linear time. */
const ESCAPE =
  /\\u([0-9a-f]{4})|(%[0-7][0-9a-f]|(?:%[89a-f][0-9a-f])+)|&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));|\\(\/)/gi;
/** The same, and all backslashes: of a run the last one may begin an escape. */
const ESCAPE_OR_BACKSLASH = new RegExp(`${ESCAPE.source}|(?:\\\\(?=\\\\))+|\\\\([nrtbf]?)`, "gi");
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
  return withoutBackslashes(text.replace(escape, (...match) => meaningOf(match, isWhole)));
}

/** A text with its escapes read, as `unescaped` gives it, that knows where each of its characters came from. */
export interface Reading {
  readonly text: string;
  /** The place in the source of the character at an index, and the place behind it. */
  from(index: number): number;
  to(index: number): number;
}

export function readEscapes(source: string, isWhole: boolean): Reading {
  // No escape stands for more characters than it has.
  const [places, ends] = [new Uint32Array(source.length), new Uint32Array(source.length)];
  const pieces: string[] = [];
  let [length, done] = [0, 0];
  const addPlain = (end: number) => {
    pieces.push(source.slice(done, end));
    for (; done < end; done++) {
      places[length] = done;
      ends[length++] = done + 1;
    }
  };
  for (const match of source.matchAll(ESCAPE_OR_BACKSLASH)) {
    addPlain(match.index);
    done += match[0].length;
    const meaning = withoutBackslashes(meaningOf(match, isWhole));
    pieces.push(meaning);
    places.fill(match.index, length, length + meaning.length);
    ends.fill(done, length, length += meaning.length);
  }
  addPlain(source.length);
  return { text: pieces.join(""), from: (index) => places[index]!, to: (index) => ends[index]! };
}

function meaningOf(match: readonly unknown[], isWhole: boolean): string {
  const [whole, unit, percent, decimal, hex, entity, slash, control] = match as (string | undefined)[];
  if (unit !== undefined) return String.fromCharCode(parseInt(unit, 16));
  if (percent !== undefined) return readPercent(percent);
  if (entity !== undefined) return ENTITIES[entity.toLowerCase()]!;
  if (slash !== undefined) return slash;
  if (decimal === undefined && hex === undefined) {
    // A replacer is given more than the groups: the place of a match where there is no such group.
    const letter = typeof control === "string" ? control : "";
    return isWhole ? CONTROLS[letter] ?? letter : letter;
  }
  const point = decimal === undefined ? parseInt(hex!, 16) : Number(decimal);
  return point <= 0x10ffff ? String.fromCodePoint(point) : whole!;
}

const decoder = new TextDecoder();

function readPercent(text: string): string {
  if (text.length === 3) return String.fromCharCode(parseInt(text.slice(1), 16));
  return decoder.decode(Uint8Array.fromHex(text.replaceAll("%", "")));
}
