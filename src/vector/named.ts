import { splitWords, type Tool } from "../model/mod.ts";

/** The tools that a query names, by their places. */
export interface Names {
  /** Meant for sure, with how sure: 2 for a name as it is written, 1 for one in other words. They come first. */
  readonly named: ReadonlyMap<number, number>;
  /** A name that is also a plain word was said: they are in the answer, wherever they rank. */
  readonly mentioned: readonly number[];
}

/** Words that announce a name. */
const CUE = /^(use|using|call|calling|run|running|invoke|invoking|execute|via|try|tool)$/i;

/**
 * By id, by bare name, or inside a longer query. A name that is a plain word, such as `search`, is meant for sure where
 * it is announced or quoted; elsewhere it counts as mentioned if `isRare` says that tools seldom use the word.
 */
export function createNameFinder(
  tools: readonly Tool[],
  isRare: (word: string) => boolean,
): (query: string) => Names {
  const byName = new Map<string, number[]>();
  const bySpokenName = new Map<string, number[]>();
  tools.forEach(({ id, name }, i) => {
    for (const key of [id.toLowerCase(), name.toLowerCase()]) byName.getOrInsertComputed(key, () => []).push(i);
    bySpokenName.getOrInsertComputed(spoken(name), () => []).push(i);
  });

  return (query) => {
    const named = new Map<number, number>(bySpokenName.get(spoken(query))?.map((index) => [index, 1]));
    const mentioned = new Set<number>();
    const tokens = query.match(/[`"'(]?[^\s,;`"'()]+[`"')]?/g) ?? [];
    tokens.forEach((token, i) => {
      const inner = token.replace(/^[`"'(]|[`"')]$/g, "");
      const bare = byName.has(inner.toLowerCase()) ? inner : inner.replace(/[.?!:]+$/, "");
      const matches = byName.get(bare.toLowerCase());
      if (!matches) return;
      const isPlain = /^\p{L}+$/u.test(bare) && !/\p{Ll}\p{Lu}/u.test(bare);
      const isAnnounced = CUE.test(tokens[i - 1] ?? "") || /^tools?\b/i.test(tokens[i + 1] ?? "");
      if (!isPlain || isAnnounced || /^[`"']/.test(token)) matches.forEach((index) => named.set(index, 2));
      else if (isRare(bare)) matches.forEach((index) => mentioned.add(index));
    });
    return { named, mentioned: [...mentioned].filter((index) => !named.has(index)) };
  };
}

function spoken(text: string): string {
  return splitWords(text).join(" ").toLowerCase();
}
