import { isObject, terms, type Tool } from "../model/mod.ts";

/** The share of words that two descriptions have in common from which on their tools seem to do the same. */
const ALIKE_WORDS = 0.6;
/** The same of the names of their parameters. */
const ALIKE_PARAMETERS = 0.5;
/** The share of a score in a search, by words and by meaning, that says so whatever the words are. */
const NEAR = 0.8;

/** True for tools that seem to do the same: near in words or in meaning, and called alike. */
export function overlap(a: Tool, b: Tool, score: number): boolean {
  if (a.server === b.server) return false;
  const isNear = score >= NEAR || shared(wordsOf(a), wordsOf(b)) >= ALIKE_WORDS;
  return isNear && shared(parametersOf(a), parametersOf(b)) >= ALIKE_PARAMETERS;
}

/** The share of all members that both sets have; 1 for two empty sets. */
function shared(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const all = a.union(b).size;
  return all === 0 ? 1 : a.intersection(b).size / all;
}

function wordsOf({ name, description }: Tool): Set<string> {
  return new Set(terms(`${name} ${description ?? ""}`));
}

function parametersOf({ inputSchema: { properties } }: Tool): Set<string> {
  return new Set(isObject(properties) ? Object.keys(properties).map((name) => name.toLowerCase()) : []);
}
