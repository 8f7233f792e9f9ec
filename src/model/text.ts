/** Characters that move a cursor, hide text or flip its direction; the selectors of emoji and text style stay. */
const UNSAFE =
  // deno-lint-ignore no-control-regex
  /(?![\ufe0e\ufe0f])[\p{Default_Ignorable_Code_Point}\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb]/gu;

/** Text of foreign origin without terminal escapes, invisible characters and bidi overrides. */
export function sanitise(text: string): string {
  return text.replace(ANSI, "").replace(UNSAFE, "");
}

// deno-lint-ignore no-control-regex
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;

/** Text with nothing hidden: what a terminal or a dialogue would not show is written as its code. */
export function spelledOut(text: string): string {
  return text.replace(
    /[^\x20-\x7e\n]/gu,
    (character) => sanitise(character) === character ? character : codesOf(character),
  );
}

/** A character as the escapes of its code units. */
export const codesOf = (character: string): string =>
  character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

/** Sanitised, white space collapsed, on one line, at most `length` characters. */
export function oneLine(text: string, length = Infinity): string {
  return cut(sanitise(text).replace(/\s+/g, " ").trim(), length);
}

/** At most `length` characters, the end marked when something was cut. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  if (length < 1) return "";
  const end = length - 1;
  // Never leave half a surrogate pair behind.
  return text.slice(0, /[\ud800-\udbff]/.test(text[end - 1] ?? "") ? end - 1 : end) + "…";
}

/** The usual estimate of what a text costs a model. */
export const CHARACTERS_PER_TOKEN = 4;

/** The tokens of a text, or of so many characters. */
export function tokens(text: string | number): number {
  return Math.ceil((typeof text === "number" ? text : text.length) / CHARACTERS_PER_TOKEN);
}

/** Longer words are compared by their beginning. */
const COMPARED_LENGTH = 64;
/** The most candidates, and the most of them that are compared letter by letter. */
const MOST_CANDIDATES = 20_000;
const MOST_COMPARED = 300;
const FARTHEST = 12;

/** The candidates closest to a misspelt word, nearest first. The time has a bound, however many and long they are. */
export function nearest(word: string, candidates: Iterable<string>, limit = 3): string[] {
  const lower = word.slice(0, COMPARED_LENGTH).toLowerCase();
  const far = Math.min(FARTHEST, Math.max(2, Math.floor(lower.length * 0.4)));
  const near: { candidate: string; distance: number }[] = [];
  const similar: { candidate: string; other: string; rank: number }[] = [];
  let seen = 0;
  for (const candidate of candidates) {
    if (++seen > MOST_CANDIDATES) break;
    const other = candidate.slice(0, COMPARED_LENGTH).toLowerCase();
    const isInside = lower.length > 2 && other.length > 2 && (other.includes(lower) || lower.includes(other));
    if (isInside) near.push({ candidate, distance: 0.5 });
    else {
      const apart = Math.abs(lower.length - other.length);
      const isAbbreviated = lower.length > 2 && other.startsWith(lower.slice(0, 3));
      if (isAbbreviated) near.push({ candidate, distance: 2 });
      if (apart <= far) similar.push({ candidate, other, rank: apart + (lower[0] === other[0] ? 0 : 1) });
    }
  }
  similar.sort((a, b) => a.rank - b.rank);
  for (const { candidate, other } of similar.slice(0, MOST_COMPARED)) {
    const distance = editDistance(lower, other, far);
    if (distance <= far) near.push({ candidate, distance });
  }
  near.sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1));
  return [...new Set(near.map(({ candidate }) => candidate))].slice(0, limit);
}

/** Levenshtein distance within a band of `limit` around the diagonal; Infinity once it must exceed `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return Infinity;
  const beyond = limit + 1;
  let previous = new Uint8Array(b.length + 2).fill(beyond);
  let row = new Uint8Array(b.length + 2);
  for (let j = 0; j <= Math.min(b.length, limit); j++) previous[j] = j;
  for (let i = 1; i <= a.length; i++) {
    const from = Math.max(1, i - limit);
    const to = Math.min(b.length, i + limit);
    row[from - 1] = from === 1 ? Math.min(i, beyond) : beyond;
    let least = row[from - 1]!;
    const unit = a.charCodeAt(i - 1);
    for (let j = from; j <= to; j++) {
      const substitution = previous[j - 1]! + (unit === b.charCodeAt(j - 1) ? 0 : 1);
      const other = Math.min(previous[j]!, row[j - 1]!) + 1;
      const value = Math.min(substitution, other, beyond);
      row[j] = value;
      if (value < least) least = value;
    }
    row[to + 1] = beyond;
    if (least >= beyond) return Infinity;
    [previous, row] = [row, previous];
  }
  return previous[b.length]! > limit ? Infinity : previous[b.length]!;
}
