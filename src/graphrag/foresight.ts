import { canonicalJson, type JsonObject } from "../model/mod.ts";
import { lowerBound } from "./bound.ts";
import { createPlaces } from "./two_queue_cache.ts";
import { fill, isShort, type Recipe, type Remembered, staysAtHome } from "./recipe.ts";

/** A call that may come next, with all its arguments. */
export interface Foreseen {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly call: string;
  /** The share of times that one may count on its coming next. */
  readonly bound: number;
}

/** How often a recipe could be followed in one place, and how often it was. */
export interface Way {
  readonly place: string;
  readonly recipe: Recipe;
  readonly hits: number;
  readonly trials: number;
}

/** Which exact call follows which, learned from calls and what they gave. */
export interface Foresight {
  /** Takes notice of the next call, made by this recipe; says what changed. */
  learn(before: readonly Remembered[], next: Remembered, recipe: Recipe): {
    readonly changed: readonly Way[];
    readonly forgotten: readonly Way[];
  };
  /** What may come next, the surest first. */
  foresee(before: readonly Remembered[]): Foreseen[];
  restore(way: Way): void;
}

/** More ways than this are no habit; the one that came true least is forgotten. */
const MOST_WAYS = 8;
const MOST = { mostKnown: 5_000, mostNew: 1_000 };
const LONGEST_CALL = 600;
const CALL = "call ";

/** The name of a call: the same for the same tool and arguments; none for what is too long to be told apart by it. */
export function callName(tool: string, args: unknown): string | undefined {
  const text = canonicalJson(args ?? {});
  return text.length <= LONGEST_CALL ? `${tool} ${text}` : undefined;
}

interface Count {
  readonly recipe: Recipe;
  hits: number;
  trials: number;
}

export function createForesight(): Foresight {
  const places = createPlaces<Map<string, Count>>({ make: () => new Map(), ...MOST });

  /** Puts a way in and, where there are too many, the worst of the others out. */
  function put(ways: Map<string, Count>, count: Count): [string, Count] | undefined {
    const key = canonicalJson(count.recipe);
    ways.set(key, count);
    if (ways.size <= MOST_WAYS) return undefined;
    const others = [...ways].filter(([other]) => other !== key);
    const worst = others.reduce((a, b) => b[1].hits / b[1].trials < a[1].hits / a[1].trials ? b : a);
    ways.delete(worst[0]);
    return worst;
  }

  return {
    learn(before, next, recipe) {
      const [changed, forgotten]: [Way[], Way[]] = [[], []];
      for (const place of placesOf(before)) {
        const ways = places.visit(place);
        let isKnown = false;
        for (const way of ways.values()) {
          const made = fill(way.recipe, before);
          if (!made) continue;
          const isHit = next.call !== "" && callName(way.recipe.tool, made) === next.call;
          isKnown ||= isHit;
          way.trials++;
          way.hits += Number(isHit);
          changed.push({ place, ...way });
        }
        if (isKnown || next.call === "" || !isShort(recipe)) continue;
        const way = { recipe, hits: 1, trials: 1 };
        const worst = put(ways, way);
        // After a call that was never made before, nothing is kept that came about once: neither will come again.
        const isLasting = ({ trials }: Count) => trials > 1 || !place.startsWith(CALL);
        if (worst && isLasting(worst[1])) forgotten.push({ place, ...worst[1] });
        if (isLasting(way)) changed.push({ place, ...way });
      }
      return {
        changed: changed.filter((way) => !forgotten.some(({ recipe: gone }) => gone === way.recipe)),
        forgotten,
      };
    },
    foresee(before) {
      const found = new Map<string, Foreseen>();
      for (const place of placesOf(before)) {
        for (const { recipe, hits, trials } of places.get(place)?.values() ?? []) {
          const made = staysAtHome(recipe) ? fill(recipe, before) : undefined;
          const call = made && callName(recipe.tool, made);
          if (!made || call === undefined) continue;
          const bound = lowerBound(hits, trials);
          if ((found.get(call)?.bound ?? -1) < bound) {
            found.set(call, { tool: recipe.tool, arguments: made, call, bound });
          }
        }
      }
      return [...found.values()].sort((a, b) => b.bound - a.bound);
    },
    restore({ place, recipe, hits, trials }) {
      put(trials > 1 ? places.restore(place) : places.visit(place), { recipe, hits, trials });
    },
  };
}

/** The last tool, and the last call exactly; of two words on the same call the better founded one counts. */
function placesOf(before: readonly Remembered[]): string[] {
  const last = before.at(-1);
  if (!last) return [];
  return [`tool ${last.tool}`, ...last.call === "" ? [] : [`${CALL}${last.call}`]];
}
