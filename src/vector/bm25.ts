/** The terms of a document, each with the weight of the place it stands in. */
export type WeightedTerms = readonly (readonly [term: string, weight: number])[];

/** Ranks documents by the terms they share with a query. */
export interface LexicalIndex {
  /** One score per document. */
  score(query: readonly string[]): Float32Array;
  /** Tells whether a document has a term, and how many documents have it. */
  has(document: number, term: string): boolean;
  count(term: string): number;
  /** The inverse document frequency of a term; an unknown term has the highest. */
  weight(term: string): number;
}

const K1 = 0.9;
const B = 0.5;
/** A word that is said again and again counts no more than this. */
const MOST = 8;

/** BM25 over weighted terms: a name counts more than a description without being an index of its own. */
export function buildLexicalIndex(documents: readonly WeightedTerms[]): LexicalIndex {
  const postings = new Map<string, { document: number; weight: number }[]>();
  const lengths = new Float32Array(documents.length);
  documents.forEach((weighted, document) => {
    const counts = new Map<string, number>();
    for (const [term, weight] of weighted) counts.set(term, Math.min(MOST, (counts.get(term) ?? 0) + weight));
    for (const [term, weight] of counts) {
      lengths[document]! += weight;
      postings.getOrInsertComputed(term, () => []).push({ document, weight });
    }
  });
  const average = lengths.reduce((sum, length) => sum + length, 0) / (documents.length || 1) || 1;
  const rarity = (found: number) => Math.log(1 + (documents.length - found + 0.5) / (found + 0.5));

  return {
    score(query) {
      const scores = new Float32Array(documents.length);
      for (const term of new Set(query)) {
        const found = postings.get(term) ?? [];
        const worth = rarity(found.length) * (K1 + 1);
        for (const { document, weight } of found) {
          scores[document]! += worth * weight / (weight + K1 * (1 - B + B * lengths[document]! / average));
        }
      }
      return scores;
    },
    has: (document, term) => postings.get(term)?.some((found) => found.document === document) ?? false,
    count: (term) => postings.get(term)?.length ?? 0,
    weight: (term) => rarity(postings.get(term)?.length ?? 0),
  };
}
