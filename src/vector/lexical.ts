import MiniSearch from "minisearch";
import { isObject } from "../model/json.ts";
import type { Tool } from "../model/tool.ts";

/** Ranks tools by the words they share with a query. */
export interface LexicalIndex {
  search(query: string): { id: string; score: number }[];
}

/** Builds an index over names, descriptions and parameters. */
export function buildLexicalIndex(tools: readonly Tool[]): LexicalIndex {
  const index = new MiniSearch({
    fields: ["name", "description", "parameters"],
    tokenize: words,
    processTerm: (term) => STOP_WORDS.has(term) ? null : stem(term),
    searchOptions: { boost: { name: 2, parameters: 0.5 }, prefix: (term) => term.length > 3, fuzzy: false },
  });
  index.addAll(tools.map((tool) => ({
    id: tool.id,
    name: `${tool.name} ${tool.title ?? ""}`,
    description: tool.description.slice(0, 2_000),
    parameters: isObject(tool.inputSchema.properties) ? Object.keys(tool.inputSchema.properties).join(" ") : "",
  })));
  return { search: (query) => index.search(query).map(({ id, score }) => ({ id, score })) };
}

/** `createPullRequest`, `create_pull_request` and "create pull request" are the same three words. */
export function words(text: string): string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}

const STOP_WORDS = new Set(
  "a an and are as at be by for from in into is it of on or that the this to use using with you your".split(" "),
);

function stem(word: string): string {
  if (word.length < 5) return word.replace(/s$/, "");
  return word.replace(/(ies)$/, "y").replace(/(ing|ed|es|s)$/, "");
}
