import { splitWords, terms } from "../../model/mod.ts";
import type { Parameter } from "./infer.ts";
import type { Literal } from "./literals.ts";

/** Words of a parameter's name that say nothing about which one it is, as long as there are others. */
const GENERIC = new Set(
  "id name slug path key value number string text list type uri absolut param input data title object full new".split(
    " ",
  ),
);

/** Other words that people use for what a parameter is called. */
const SAID: ReadonlyMap<string, string> = new Map(Object.entries({
  titl: "titled called named headline",
  summary: "titled called named event meeting",
  subject: "titled",
  name: "called named",
  messag: "saying commit message",
  text: "saying post write tell reply",
  content: "saying containing",
  body: "saying text",
  query: "search find look about",
  q: "search find geocode look",
  prompt: "draw generate",
  label: "labelled labeled tagged tag",
  tag: "tagged labelled",
  width: "wide",
  height: "high tall",
  repl: "replicas scale",
  scal: "replicas",
  attend: "invite with",
  recipient: "mail email send",
  reaction: "react emoji",
  selector: "element fill click selector",
  location: "room",
  theme: "theme style",
  organization: "org organisation",
  branch: "branch",
  directory: "folder directory",
  database: "db",
  comment: "saying",
  reason: "because",
  pull: "pr",
  issu: "ticket",
  tail: "last",
  head: "first",
  timeout: "give wait within",
  pattern: "like matching",
}));

/** The other words for one of a parameter's, each in its plain form. */
export function alsoSaid(word: string): string[] {
  return terms(SAID.get(word) ?? "");
}

export const SOURCE = /^(from|source|src|origin|old|input)/i;
const TARGET = /^(to|destination|dest|target|new|output|into)/i;
const FROM = new Set(["from"]);
const TO = new Set(["to", "into", "as", "onto", "in"]);
/** How much a word counts by how far from the literal it stands. */
const NEAR = [1, 0.9, 0.6, 0.4, 0.25];
const MORE_SAID = 0.25;
const COUNTS = /^(limit|count|top|max|first|num|n|per|page|size|results?)$/;

/** The words around a literal. */
export interface Around {
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** The very word before, as it stands: prepositions tell a source from a target. */
  readonly preposition: string;
}

export function around(request: string, { start, end }: Literal): Around {
  const before = request.slice(Math.max(0, start - 60), start).split(/[.;!?,]\s|\s(?:and|then)\s/).at(-1)!;
  // What stands behind a preposition is about something else.
  const after = request.slice(end, end + 40).split(/[.;!?,]|\b(?:and|in|on|at|of|to|from|for|with|as|into|by)\b/)[0]!;
  return {
    before: terms(before).reverse().slice(0, NEAR.length),
    after: terms(after).slice(0, 3),
    preposition: splitWords(before).at(-1)?.toLowerCase() ?? "",
  };
}

/** The words that a parameter goes by. */
export function cueWords({ name }: Pick<Parameter, "name">): string[] {
  const all = terms(name);
  const telling = all.filter((word) => !GENERIC.has(word));
  return telling.length > 0 ? telling : all;
}

/** How much the words around a literal speak for a parameter: 0 to about 1. */
export function cue(parameter: Parameter, { before, after, preposition }: Around): number {
  const words = cueWords(parameter);
  // "20 per page" is no page.
  if (words.join() === "page" && after[0] !== undefined) return 0;
  const near = (word: string) => {
    const names = [word, ...alsoSaid(word)];
    const ahead = Math.max(0, ...names.map((one) => NEAR[before.indexOf(one)] ?? 0));
    const behind = Math.max(0, ...names.map((one) => (NEAR[after.indexOf(one)] ?? 0) * 0.8));
    return Math.max(ahead, behind);
  };
  // Of two names that fit, the one more of which is said is meant: "x-axis title" is not just a title.
  const said = terms(parameter.name).filter((word) => near(word) > 0).length;
  const named = words.length === 0
    ? 0
    : words.reduce((sum, word) => sum + near(word), 0) / words.length + MORE_SAID * Math.max(0, said - 1);
  const way = SOURCE.test(parameter.name) && FROM.has(preposition) || TARGET.test(parameter.name) && TO.has(preposition)
    ? 0.8
    : SOURCE.test(parameter.name) && TO.has(preposition) || TARGET.test(parameter.name) && FROM.has(preposition)
    ? -0.8
    : 0;
  return named + way;
}

/** Whether a number says how many are wanted: "the first 20", "5 at most", "up to 50 records", "30 per page". */
export function isCount(parameter: Parameter, request: string, { start, end }: Literal): boolean {
  if (
    !terms(parameter.name).every((word) =>
      COUNTS.test(word) || word.endsWith("s") || /result|item|row|record/.test(word)
    )
  ) return false;
  const before = request.slice(Math.max(0, start - 20), start);
  const after = request.slice(end, end + 25);
  if (/^\s*%|^\s*(years?|hours?|minutes?|seconds?|days?|px|mb|gb|kb|ms)\b/i.test(after)) return false;
  return /\b(first|top|up to|at most|limit(?: of| to)?|max(?:imum)?(?: of)?|only|last|latest|newest)\s*:?\s*$/i.test(
    before,
  ) ||
    /^\s*(at most|max\b|per page|\p{L}+s\b(?!\s*(?:old|ago)))/iu.test(after);
}
