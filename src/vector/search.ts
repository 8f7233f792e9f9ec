import { terms, type Tool } from "../model/mod.ts";
import { buildLexicalIndex, type LexicalIndex } from "./bm25.ts";
import { createNameFinder, type Names } from "./named.ts";
import { readQuery } from "./query.ts";
import { bestOf, rank, scoreWords } from "./rank.ts";
import { liftOf } from "./judgements.ts";
import type { SearchHints, ToolSearch } from "./search_port.ts";
import { createSemantic, type SemanticOptions } from "./semantic.ts";
import { lexicalTerms, phraseText, type ToolText, toolText } from "./tool_text.ts";

/** The prepared index of one set of tools. */
interface Prepared {
  readonly tools: readonly Tool[];
  readonly texts: readonly ToolText[];
  readonly lexical: LexicalIndex;
  readonly namesIn: (query: string) => Names;
}

/** Sessions see different sets of tools; the last few stay ready. */
const KEPT_SETS = 8;
const KEPT_PHRASES = 10_000;
/** The best by words whose meaning is looked at in any case, in sets too large to look at all. */
const BEST_BY_WORDS = 300;
/** A word in this many tools at most is nobody's everyday word. */
const RARE = 2;

export function createToolSearch(options: SemanticOptions): ToolSearch {
  const semantic = createSemantic(options);
  const kept: Prepared[] = [];

  const phrases = new Map<string, ToolText>();

  /** The text of a request of earlier; hashing it costs more than finding it. */
  function phrase(request: string): ToolText {
    if (phrases.size > KEPT_PHRASES) phrases.clear();
    return phrases.getOrInsertComputed(request, () => phraseText(request));
  }

  function prepared(tools: readonly Tool[], about: SearchHints["about"]): Prepared {
    const at = kept.findIndex((set) => isSame(set.tools, tools));
    const set = at < 0 ? build(tools, about) : kept.splice(at, 1)[0]!;
    kept.unshift(set);
    if (kept.length > KEPT_SETS) kept.pop();
    return set;
  }

  /** Server by server: what one of them says anew replaces what it said before. */
  function prepare(tools: readonly Tool[]): void {
    for (const [server, own] of Map.groupBy(tools, (tool) => tool.server)) semantic.index(server, own.map(toolText));
  }

  return {
    configure: semantic.configure,
    warm: semantic.warm,
    prepare,
    remember: (source, requests) => semantic.index(source, requests.map(phrase)),
    async compare(request, earlier) {
      const meaning = await semantic.similar(readQuery(request), [], [], earlier.map(phrase));
      return meaning.kind === "scores" ? meaning.earlier : undefined;
    },
    encodeParts: semantic.encodeParts,
    async search(tools, query, limit, { about, experience } = {}) {
      if (tools.length === 0) return { hits: [], weak: [] };
      const { texts, lexical, namesIn } = prepared(tools, about);
      const read = readQuery(query);
      const names = namesIn(query);
      const words = scoreWords(lexical, read);
      const earlier = experience?.judgements.map(({ request }) => phrase(request));
      const meaning = await semantic.similar(read, texts, bestOf(words.scores, BEST_BY_WORDS), earlier);
      if (meaning.kind === "unavailable" || meaning.missing > 0) prepare(tools);
      const lift = (fused: Float32Array) =>
        experience && liftOf(tools.map(({ id }) => id), {
          experience,
          similarities: meaning.kind === "scores" ? meaning.earlier : undefined,
          coverageOf: words.coverageOf,
          first: bestOf(fused, 1)[0] ?? 0,
        });
      const { best, fits, isUnlikely } = rank({ words, meaning, names, limit, lift });
      const note = meaning.kind === "unavailable"
        ? `(searched by words only: ${meaning.why})`
        : meaning.missing > 0
        ? `(${meaning.missing} of ${tools.length} tools are still being read and were searched by words only)`
        : undefined;
      const isLast = (index: number) => Number(!names.named.has(index) && isDeprecated(tools[index]!));
      const hits = best.toSorted((a, b) => isLast(a.index) - isLast(b.index))
        .map(({ index, score }) => ({ tool: tools[index]!, score }));
      if (fits) return { hits, weak: [], ...note && { note } };
      const said = names.mentioned.map((index) => tools[index]!);
      const weak = hits.toSorted((a, b) => Number(said.includes(b.tool)) - Number(said.includes(a.tool)));
      return { hits: [], weak, isUnlikely, ...note && { note } };
    },
    settled: semantic.settled,
    status: (tools) => semantic.status(tools.map(toolText)),
    close: semantic.close,
  };
}

function build(tools: readonly Tool[], about: SearchHints["about"]): Prepared {
  const lexical = buildLexicalIndex(tools.map((tool) => lexicalTerms(tool, about?.get(tool.server))));
  return {
    tools: [...tools],
    texts: tools.map(toolText),
    lexical,
    namesIn: createNameFinder(tools, (word) => terms(word).every((term) => lexical.count(term) <= RARE)),
  };
}

const DEPRECATED = /^\W*deprecated\b|\b(?:is|are|been) deprecated\b|\bdeprecated[:,;.!)\]]/i;
const LOOKED_AT = 1_000;

/** A tool whose own text says that another one has taken its place. */
function isDeprecated({ description, title = "" }: Tool): boolean {
  return DEPRECATED.test(description.slice(0, LOOKED_AT)) || DEPRECATED.test(title);
}

function isSame(a: readonly Tool[], b: readonly Tool[]): boolean {
  return a.length === b.length && a.every((tool, i) => tool === b[i]);
}
