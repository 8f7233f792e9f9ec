import { splitWords, type Tool } from "../model/mod.ts";
import type { Hit } from "../vector/mod.ts";

const SHOWN = 3;
const keys = new WeakMap<Tool, string>();

/** The words of a tool's name in any order: `email_send` is a namesake of `send_email`. */
function keyOf(tool: Tool): string {
  return keys.getOrInsertComputed(
    tool,
    () => splitWords(tool.name).map((word) => word.toLowerCase()).toSorted().join(" "),
  );
}

/** Namesakes whose scores are so near fit a request equally well. */
const NEAR = 0.25;

/**
 * Hits in which a tool that was called before stands before its namesakes of other servers that fit about as well, however
 * much these say about themselves; the places of the others stay. A name of one word, such as `search`, says too little.
 */
export function usedFirst(hits: readonly Hit[], wasUsed: (id: string) => boolean): Hit[] {
  const groups = Map.groupBy(hits, ({ tool }) => keyOf(tool));
  for (const [key, group] of groups) {
    const best = group[0]!.score;
    const isFirst = ({ tool, score }: Hit) => Number(wasUsed(tool.id) && score >= best - NEAR);
    if (key.includes(" ")) groups.set(key, group.toSorted((a, b) => isFirst(b) - isFirst(a)));
  }
  return hits.map(({ tool }) => groups.get(keyOf(tool))!.shift()!);
}

/** The namesakes of hits on other servers that are no hits themselves, by the id of the hit. */
export function namesakesOf(hits: readonly Hit[], tools: readonly Tool[]): ReadonlyMap<string, readonly string[]> {
  const wanted = new Set(hits.map(({ tool }) => keyOf(tool)));
  const shown = new Set(hits.map(({ tool }) => tool));
  const groups = Map.groupBy(tools.filter((tool) => !shown.has(tool) && wanted.has(keyOf(tool))), keyOf);
  return new Map(hits.flatMap(({ tool }) => {
    const others = (groups.get(keyOf(tool)) ?? []).filter(({ server }) => server !== tool.server);
    return others.length > 0 ? [[tool.id, others.slice(0, SHOWN).map(({ id }) => id)] as const] : [];
  }));
}
