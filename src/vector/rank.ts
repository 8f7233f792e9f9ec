import type { LexicalIndex } from "./bm25.ts";
import type { Names } from "./named.ts";
import type { Query } from "./query.ts";
import type { Similarity } from "./semantic.ts";
import type { Scores } from "./vector_store.ts";

/** The lexical score of each tool for a query. */
export interface ByWords {
  readonly scores: Float32Array;
  /** The number of different words in the query. */
  readonly terms: number;
  /** From 0 to 1: how much of what the query says a tool says too. */
  coverageOf(tool: number): number;
}

export function scoreWords(index: LexicalIndex, { terms }: Query): ByWords {
  const weigh = (some: readonly string[]) => some.reduce((sum, term) => sum + index.weight(term), 0);
  const total = weigh(terms) || 1;
  return {
    scores: index.score(terms),
    terms: terms.length,
    coverageOf: (tool) => weigh(terms.filter((term) => index.has(tool, term))) / total,
  };
}

/** The weight of words against meaning: low where the best tool shares few words with the query. */
const WORDS_AT_LEAST = 0.2;
const WORDS_AT_MOST = 0.4;
/** The weight of the nearest step of a request against the whole request. */
const STEP_SHARE = 0.5;

/** Joins both orders into one: every score is measured by how far it stands out among all tools. */
export function fuse(words: ByWords, meaning: Similarity): Float32Array {
  const byWords = standardise(words.scores);
  if (meaning.kind === "unavailable") return byWords;
  const best = words.scores.reduce((top, score, i) => score > words.scores[top]! ? i : top, 0);
  const share = WORDS_AT_LEAST + (WORDS_AT_MOST - WORDS_AT_LEAST) * words.coverageOf(best);
  const byMeaning = standardise(nearness(meaning.tools));
  // A tool without a vector yet goes by its words alone.
  return byWords.map((score, i) => share * score + (1 - share) * (Number.isNaN(byMeaning[i]) ? score : byMeaning[i]!));
}

/** The similarity of each text to a request: to all of it, and to the step that fits best. */
function nearness({ whole, step }: Scores): Float32Array {
  return step ? whole.map((score, i) => score + STEP_SHARE * (step[i]! - score)) : whole;
}

/** Scores as distances from the mean in standard deviations; what has no score keeps none. */
function standardise(scores: Float32Array): Float32Array {
  let [count, sum, squares] = [0, 0, 0];
  for (const score of scores) {
    if (Number.isNaN(score)) continue;
    count++;
    sum += score;
    squares += score * score;
  }
  const mean = sum / (count || 1);
  const spread = Math.sqrt(Math.max(0, squares / (count || 1) - mean * mean)) || 1;
  return scores.map((score) => (score - mean) / spread);
}

export interface RankRequest {
  readonly words: ByWords;
  readonly meaning: Similarity;
  readonly names: Names;
  readonly limit: number;
  /** The deviations by which each tool stands out for other reasons than its text, given those of the texts. */
  readonly lift?: (fused: Float32Array) => Float32Array | undefined;
}

export interface Ranked {
  readonly index: number;
  /** From 0 to 1. */
  readonly score: number;
}

export interface RankResult {
  readonly best: readonly Ranked[];
  /** True if the best tool may be the requested one. */
  readonly fits: boolean;
  /** True if it is likely that no tool serves the request. */
  readonly isUnlikely: boolean;
}

/** The best tools: those that are named, then the others by how well they fit. */
export function rank(request: RankRequest): RankResult {
  const { words, meaning, names, limit } = request;
  const byText = fuse(words, meaning);
  const lift = request.lift?.(byText);
  const fused = lift ? byText.map((score, i) => score + lift[i]!) : byText;
  const order = [...fused.keys()].sort((a, b) =>
    (names.named.get(b) ?? 0) - (names.named.get(a) ?? 0) || fused[b]! - fused[a]! || a - b
  );
  const best = order.slice(0, limit);
  const isSure = names.named.size > 0 || (lift?.[order[0]!] ?? 0) >= PROVEN;
  const evidence = evidenceFor(request, order[0]!);
  // Whoever says a tool's name sees it, at the end if need be.
  const room = Math.max(0, Math.min(limit - names.named.size, Math.ceil(limit / 2)));
  const left = names.mentioned.filter((index) => !best.includes(index)).slice(0, room);
  const shown = [...best.slice(0, limit - left.length), ...left];
  return {
    best: shown.map((index) => ({ index, score: names.named.has(index) ? 1 : asShare(fused[index]!) })),
    fits: isSure || evidence >= ENOUGH,
    isUnlikely: !isSure && evidence < LEAST,
  };
}

/** The lift of a tool that served requests like this one before. */
const PROVEN = 1;

/** Three deviations above the usual is as likely right as wrong; far above it is nearly sure. */
function asShare(standing: number): number {
  return 1 / (1 + Math.exp(3 - standing));
}

/** The deviations by which a hit of an answer is behind its first. */
export function missingOf(hits: readonly { readonly score: number }[], hit: { readonly score: number }): number {
  const standing = (score: number) => 3 + Math.log(Math.max(score, LOWEST) / Math.max(1 - score, LOWEST));
  return Math.max(0, ...hits.map(({ score }) => standing(score) - standing(hit.score)));
}

/** A score of 0 or 1 stands for more than can be counted. */
const LOWEST = 1e-4;

/** The weights of what speaks for a tool, against what the world's tools would have to say. */
const WORLD = 0.55;
const COVERAGE = 0.25;
/** The longer a request, the less of it any tool's text resembles. */
const PER_TERM = 0.03;
const MAX_TERMS = 10;
/** The nearest of many tools that have nothing to do with a request is nearer than the nearest of few. */
const SPREAD = 0.1;
const USUAL = 3.72;
const ENOUGH = 0.355;
const LEAST = 0.3;
/** Without meaning there is only this: how much of the request the best tool says too. */
const WORDS_ENOUGH = 0.2;

/** The evidence that the best tool may be the requested one. */
function evidenceFor({ words, meaning }: RankRequest, best: number): number {
  const coverage = words.coverageOf(best);
  const byWords = coverage >= WORDS_ENOUGH ? ENOUGH : 0;
  if (meaning.kind === "unavailable") return byWords;
  const near = highest(nearness(meaning.tools));
  const elsewhere = highest(nearness(meaning.world));
  const ofMany = SPREAD * (USUAL - Math.sqrt(2 * Math.log(words.scores.length)));
  const evidence = near - WORLD * elsewhere + COVERAGE * coverage + PER_TERM * Math.min(words.terms, MAX_TERMS) +
    ofMany;
  // While vectors are still missing, nobody can say that nothing fits.
  return meaning.missing > 0 ? Math.max(evidence, byWords) : evidence;
}

function highest(scores: Float32Array): number {
  return scores.reduce((top, score) => score > top ? score : top, 0);
}

/** The places of the highest scores above nothing. */
export function bestOf(scores: Float32Array, count: number): number[] {
  return [...scores.keys()].filter((i) => scores[i]! > 0).sort((a, b) => scores[b]! - scores[a]!).slice(0, count);
}
