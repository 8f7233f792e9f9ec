/** What moves a cursor, hides text or flips its direction; the two selectors of emoji and text style stay. */
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
export function tokens(text: string | number): number {
  return Math.ceil((typeof text === "number" ? text : text.length) / 4);
}

/** The candidates closest to a misspelt word, nearest first. */
export function nearest(word: string, candidates: Iterable<string>, limit = 3): string[] {
  const lower = word.toLowerCase();
  const far = Math.max(2, Math.floor(word.length * 0.4));
  return [...candidates]
    .map((candidate) => {
      const other = candidate.toLowerCase();
      const inside = lower.length > 2 && other.length > 2 && (other.includes(lower) || lower.includes(other));
      const abbreviated = lower.length > 2 && other.startsWith(lower.slice(0, 3)) ? 2 : Infinity;
      return { candidate, distance: inside ? 0.5 : Math.min(abbreviated, editDistance(lower, other, far)) };
    })
    .filter(({ distance }) => distance <= far)
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, limit)
    .map(({ candidate }) => candidate);
}

/** Levenshtein distance, given up (Infinity) once it must exceed `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return Infinity;
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(previous[j]! + 1, row[j - 1]! + 1, substitution);
    }
    if (Math.min(...row) > limit) return Infinity;
    previous = row;
  }
  return previous[b.length]!;
}
