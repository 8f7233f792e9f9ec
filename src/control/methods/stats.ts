import { type Session, toolsInMemory } from "../../call/mod.ts";
import { DAY_MS } from "../../db/start.ts";
import type { Tool } from "../../model/mod.ts";
import { TOOLS } from "../../serve/mod.ts";
import { contextBudget, overlap, type Usage } from "../../stats/mod.ts";
import type { Method } from "../context.ts";
import type { Overlap } from "../reports.ts";

/** Tools that are compared: those that are used most. */
const MOST_COMPARED = 15;

export const stats: Method<"stats"> = async ({ gateway, session }, { tool, since, overlaps }) => {
  const usage = await gateway.stats.usage({ since: since ?? Date.now() - DAY_MS, ...tool && { tool } });
  const open = await session.catch(() => undefined);
  const tools = open?.isUsable ? await toolsInMemory(open) : [];
  const all = await gateway.stats.trends();
  return {
    ...usage,
    trends: tool ? all.filter((trend) => trend.tool === tool) : all,
    ...overlaps && open && { overlaps: await overlapsOf(open, tools, usage.tools) },
    context: tools.length === 0 ? null : contextBudget(tools, TOOLS.map(({ definition }) => definition)),
  };
};

/** Pairs of used tools of different servers that seem to do the same. */
async function overlapsOf(session: Session, tools: readonly Tool[], usage: readonly Usage[]): Promise<Overlap[]> {
  const used = new Map(usage.map((one) => [one.name, one]));
  const known = tools.filter(({ id, description }) => used.has(id) && description);
  const compared = known.toSorted((a, b) => used.get(b.id)!.calls - used.get(a.id)!.calls).slice(0, MOST_COMPARED);
  const found = new Map<string, Overlap>();
  for (const tool of compared) {
    const others = compared.filter(({ server }) => server !== tool.server);
    const { hits } = await session.shared.search.search(others, `${tool.name} ${tool.description}`, others.length);
    for (const { tool: other, score } of hits) {
      if (!overlap(tool, other, score)) continue;
      const [a, b] = [used.get(tool.id)!, used.get(other.id)!].sort((one, two) =>
        two.calls - one.calls || (one.name < two.name ? -1 : 1)
      ) as [
        Usage,
        Usage,
      ];
      found.set(`${a.name} ${b.name}`, { tools: [a.name, b.name], calls: [a.calls, b.calls], advice: adviceOf(a, b) });
    }
  }
  return [...found.values()];
}

function adviceOf(a: Usage, b: Usage): string {
  const better = score(a) >= score(b) ? a : b;
  const worse = better === a ? b : a;
  return `They seem to do the same. ${better.name} fails less or is faster: policy.deny with "${worse.name}" leaves one.`;
}

/** Success first, then speed. */
const score = ({ calls, failed, p95_ms }: Usage) => (calls - failed) / calls * 1_000 - Math.log2(1 + (p95_ms ?? 0));
