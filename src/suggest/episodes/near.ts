import type { Json, Tool } from "../../model/mod.ts";
import { type Find, whatItSays } from "../choice.ts";
import type { Suggestion } from "../draft.ts";
import { bindRequest } from "../english/bind.ts";
import { sketchOf } from "../english/sketch.ts";
import { wordsOf } from "../words_of.ts";
import type { Episode } from "./episodes.ts";
import { rebind } from "./rebind.ts";

/** A suggestion that was made of an episode. */
export interface NearEpisode extends Suggestion {
  readonly episode: string;
}

export interface NearOptions {
  readonly find: Find;
  readonly toolOf: (id: string) => Tool | undefined;
  readonly reads: (id: string) => boolean;
}

/** An episode that is less alike says nothing. */
const ALIKE = 0.45;
const LOOKED_AT = 10;
/** A tool that acts is suggested where it is among the first hits, or where the words are nearly the same. */
const FIRST = 3;
const SAME_WORDS = 0.5;
/** The confidence of a suggestion by likeness alone: it is shown, and never run at once. */
const [LOWEST, HIGHEST] = [0.7, 0.9];

/** The episode that fits an intent best, with its values said anew; undefined where none is near. */
export async function nearEpisode(
  intent: string,
  episodes: readonly Episode[],
  { find, toolOf, reads }: NearOptions,
): Promise<NearEpisode | undefined> {
  const usable = episodes.filter(({ tasks }) => tasks.every(({ tool }) => toolOf(tool)));
  if (usable.length === 0) return undefined;
  const { hits } = await find(whatItSays(intent), LOOKED_AT);
  const rank = new Map(hits.map(({ tool }, i) => [tool.id, i]));
  const said = new Set(wordsOf(intent));
  const scored = usable.flatMap((episode) => {
    const words = likeness(said, new Set(wordsOf(episode.intent)));
    const tools = [...new Set(episode.tasks.map(({ tool }) => tool))];
    const fits = tools.reduce((sum, id) => sum + (rank.has(id) ? 1 - rank.get(id)! / (2 * LOOKED_AT) : 0), 0) /
      tools.length;
    const isMeant = tools.every((id) => reads(id) || (rank.get(id) ?? Infinity) < FIRST || words >= SAME_WORDS);
    const score = 0.5 * fits + 0.5 * Math.min(1, words * 1.4);
    const isFirst = tools.every((id) => rank.get(id) === 0);
    return isMeant && (words > 0 || isFirst) && score >= ALIKE ? [{ episode, score }] : [];
  }).sort((a, b) => b.score - a.score);
  const [best] = scored;
  if (!best) return undefined;
  const { episode: { intent: earlier, tasks, good, bad }, score } = best;
  const made = rebind(earlier, intent, { tasks, bound: boundBy(tasks.map(({ tool }) => toolOf(tool)!)) });
  const likely = LOWEST + (HIGHEST - LOWEST) * (score - ALIKE) / (1 - ALIKE);
  return {
    episode: earlier,
    tasks: made.tasks,
    missing: made.missing.map(({ task, parameter, was }) => ({
      tool: tasks.find(({ id }) => id === task)!.tool,
      task,
      parameter,
      why: `it was ${was.slice(0, 80)} for the earlier request, and this one does not say it plainly`,
    })),
    explanation: [
      `it succeeded ${good === 1 ? "once" : `${good} times`} for "${earlier.slice(0, 120)}"`,
      ...made.explanation,
    ],
    confidence: Math.round(likely * (good + 1) / (good + bad + 1) * 1_000) / 1_000,
  };
}

function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  return a.size + b.size === 0 ? 0 : 2 * a.intersection(b).size / (a.size + b.size);
}

function boundBy(tools: readonly Tool[]): (request: string, task: number, parameter: string) => Json | undefined {
  const bound = new Map<string, ReturnType<typeof bindRequest>>();
  return (request, task, parameter) => {
    const calls = bound.getOrInsertComputed(request, () => bindRequest(request, tools.map(sketchOf)));
    return calls[task]?.bound[parameter]?.value;
  };
}
