import type { EndedCall, Shown } from "../call/mod.ts";
import type { Judgement, SearchExperience } from "../vector/mod.ts";

/** The experience with searches in one scope: which tools were called after them, and which tools keep failing. */
export interface Judgements {
  readonly experience: SearchExperience;
  /** A search was answered with these tools. */
  searched(trail: SearchTrail, request: string, shown: readonly Shown[]): void;
  /** Takes notice of calls; gives back the judgements that are new or have changed. */
  ended(trail: SearchTrail, calls: readonly Pick<EndedCall, "tool" | "ok">[]): readonly Judgement[];
}

/** The latest searches of one session. */
export interface SearchTrail {
  readonly searches: { readonly request: string; readonly shown: Map<string, number>; readonly at: number }[];
}

/** A call so long after a search has nothing to do with it. */
const FOLLOWS_MS = 10 * 60_000;
const LATEST = 4;
const MOST = 1_000;
const MOST_MISSING = 4;
const MOST_TOOLS = 1_000;

export function createJudgements(kept: readonly Judgement[], now: () => number = Date.now): Judgements {
  const judged = new Map(kept.map((one) => [keyOf(one.request, one.tool), one]));
  const failing = new Map<string, number>();
  let list: readonly Judgement[] | undefined;

  function judge(request: string, tool: string, missing: number): Judgement {
    const key = keyOf(request, tool);
    const before = judged.get(key)?.missing ?? 0;
    judged.delete(key);
    const judgement = { request, tool, missing: Math.min(MOST_MISSING, before + missing) };
    judged.set(key, judgement);
    if (judged.size > MOST) judged.delete(judged.keys().next().value!);
    list = undefined;
    return judgement;
  }

  return {
    experience: {
      get judgements() {
        return list ??= [...judged.values()];
      },
      failures: (tool) => failing.get(tool) ?? 0,
    },
    searched({ searches }, request, shown) {
      searches.unshift({
        request,
        shown: new Map(shown.map(({ tool, missing }) => [tool, missing])),
        at: now(),
      });
      searches.splice(LATEST);
    },
    ended({ searches }, calls) {
      return calls.flatMap(({ tool, ok }) => {
        if (ok) failing.delete(tool);
        else if (failing.size < MOST_TOOLS || failing.has(tool)) failing.set(tool, (failing.get(tool) ?? 0) + 1);
        const search = searches.find(({ shown, at }) => shown.has(tool) && now() - at < FOLLOWS_MS);
        if (!search || !ok) return [];
        const missing = search.shown.get(tool)!;
        // The next call of the same tool is about something else.
        search.shown.delete(tool);
        return [judge(search.request, tool, missing)];
      });
    },
  };
}

function keyOf(request: string, tool: string): string {
  return `${tool}\n${request}`;
}
