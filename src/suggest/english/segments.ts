import { terms } from "../../model/mod.ts";
import type { ToolSketch } from "./infer.ts";

/** A part of a request, from where to where. */
export interface Segment {
  readonly start: number;
  readonly end: number;
}

/** Where one thing to do may end and the next begin. */
const SPLITS = /[.;!?]\s+|,?\s+and\s+(?:then\s+)?|,?\s+then\s+|,\s+/gi;
const MOST_SPLITS = 40;

/** Where a request can be taken apart: what is said to the letter stays whole. */
function splitsOf(request: string, whole: readonly Segment[]): { readonly at: number; readonly text: string }[] {
  return [...request.matchAll(SPLITS)].map(({ index, 0: text }) => ({ at: index + text.length, text }))
    .filter(({ at }) => !whole.some(({ start, end }) => start < at && at < end)).slice(0, MOST_SPLITS);
}

/** Words that ask for something to be done, where they come first. */
const VERBS = new Set(
  ("add analyze append archive assign ask book browse build calculate call cancel capture change check clear click clone " +
    "close comment commit compare compute configure convert copy count crawl create deactivate delete deploy describe " +
    "diff disable download draw drop edit email enable evaluate execute explain export extract fetch file fill find " +
    "format forward generate geocode get go grab group import index insert install invite join kill label launch list " +
    "load log look mail make map mark merge message modify monitor move navigate notify open order paste pause pin plot " +
    "post press publish pull push put query react read rebase record remember remove rename render replace reply report " +
    "reserve reset resolve restart restore resume retrieve revert rollback rotate run save scale scan schedule scrape " +
    "screenshot search select send set share show shut sort stage start stash stop store submit subscribe summarize " +
    "switch sync tag take tell test track transcribe transfer translate trigger type undo update upload use validate " +
    "verify view visualize wait write").split(" "),
);
const COURTESY =
  /^(?:(?:please|kindly|can you|could you|would you|will you|i want you to|i need you to|i'd like you to|let's|also|now|then|and|next|finally|first|just|go ahead and)[\s,]+)+/i;

/** Whether a word asks for something to be done; written small, as it is inside a sentence. */
export function isVerb(word: string): boolean {
  return VERBS.has(word);
}

/** What a request asks to be done, one thing after another; what it says before the first goes for all of them. */
export interface Actions {
  readonly preface: string;
  readonly clauses: readonly string[];
}

/** The verb that a piece begins with: at once, after "GitHub:", or after "In the repository acme/site". */
function leads(piece: string): string {
  const said = piece.slice(0, 200).replace(COURTESY, "");
  const verbAt = (text: string) => {
    const word = /^[A-Za-z]+(?!\s(?:message|name|results?)\b)/.exec(text.replace(COURTESY, ""))?.[0].toLowerCase() ??
      "";
    return VERBS.has(word) ? word : "";
  };
  const first = verbAt(said) || verbAt(said.replace(/^[^:"'`]{1,60}:\s+/, ""));
  if (first || !/^(?:in|on|from|with|for|at|using|under)\s/i.test(said)) return first;
  return said.split(/\s+/).slice(2, 9).find((word) => VERBS.has(word)) ?? "";
}

/** What a text asks to be done, as one word; empty where it does not begin with one. */
export function verbOf(text: string): string {
  const pieces = text.split(/[,:]\s+|[.;!?]\s+|\s{2,}/);
  return pieces.map((piece) => leads(piece.trim())).find((verb) => verb !== "") ??
    text.toLowerCase().split(/[^a-z]+/).find((word) => VERBS.has(word)) ?? "";
}

/** The things a request asks for: each begins with a verb, and all that is said after it belongs to it. */
export function actionsOf(request: string, whole: readonly Segment[]): Actions {
  const at = [0, ...splitsOf(request, whole).map((split) => split.at)];
  const clauses: string[] = [];
  let preface = "";
  for (const [i, start] of at.entries()) {
    const piece = request.slice(start, at[i + 1] ?? request.length);
    if (leads(piece) !== "") clauses.push(piece);
    else if (clauses.length === 0) preface += piece;
    else clauses[clauses.length - 1] += piece;
  }
  return clauses.length === 0 ? { preface: "", clauses: [request] } : { preface, clauses };
}

/** The part of a request that speaks of each tool, where they are named in their order; together they are all of it. */
export function segmentsFor(request: string, tools: readonly ToolSketch[], whole: readonly Segment[]): Segment[] {
  if (tools.length < 2) return tools.map(() => ({ start: 0, end: request.length }));
  const found = splitsOf(request, whole);
  const splits = found.map(({ at }) => at);
  // What follows a mere comma goes on about the same thing, other things being equal.
  const opens = [0, ...found.map(({ text }) => text.trim() === "," ? -0.1 : 0.1)];
  const ends = [...splits, request.length];
  const starts = [0, ...splits];
  const pieces = starts.map((start, i) => new Set(terms(request.slice(start, ends[i]))));
  const wanted = tools.map(wordsOf);
  // best[t][i]: the most that the first t tools can make of the first i pieces.
  const best = wanted.map(() => new Array<number>(pieces.length + 1).fill(-Infinity));
  const from = wanted.map(() => new Array<number>(pieces.length + 1).fill(0));
  for (const [t, words] of wanted.entries()) {
    for (let i = t + 1; i <= pieces.length; i++) {
      for (let j = t; j < i; j++) {
        const before = t === 0 ? (j === 0 ? 0 : -Infinity) : best[t - 1]![j]!;
        const score = before + likeness(words, pieces.slice(j, i)) + opens[j]!;
        // What speaks of no tool goes with the one before it.
        if (score >= best[t]![i]!) [best[t]![i], from[t]![i]] = [score, j];
      }
    }
  }
  const segments: Segment[] = [];
  let end = pieces.length;
  if (best.at(-1)![end] === -Infinity) return tools.map(() => ({ start: 0, end: request.length }));
  for (let t = tools.length - 1; t >= 0; t--) {
    const begin = from[t]![end]!;
    segments.unshift({ start: starts[begin]!, end: ends[end - 1]! });
    end = begin;
  }
  return segments;
}

function wordsOf({ name, description }: ToolSketch): Map<string, number> {
  const first = description.split(/[.\n]/)[0]!;
  return new Map([
    ...terms(first).map((word) => [word, 0.5] as const),
    ...terms(name).map((word) => [word, 2] as const),
  ]);
}

/** What is said first of a thing counts in full: a part that only goes on about it adds little. */
function likeness(words: ReadonlyMap<string, number>, pieces: readonly ReadonlySet<string>[]): number {
  const said = new Set<string>();
  let sum = 0;
  for (const [i, piece] of pieces.entries()) {
    for (const word of piece) {
      const weight = words.get(word);
      if (weight === undefined || said.has(word)) continue;
      said.add(word);
      sum += weight / (1 + 0.2 * i);
    }
  }
  return sum;
}
