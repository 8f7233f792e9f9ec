import { canonicalJson, type JsonObject } from "../model/mod.ts";
import { lowerBound } from "./bound.ts";
import { createPlaces } from "./two_queue_cache.ts";
import { constantsOf, filler, isShort, type Recipe, type Remembered, staysAtHome } from "./recipe.ts";

/** A call that may come next, with all its arguments. */
export interface Foreseen {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly call: string;
  /** The share of times that one may count on its coming next. */
  readonly bound: number;
}

/** The number of times a recipe could be applied in one place, and the number of times it was right. */
export interface Way {
  readonly place: string;
  readonly recipe: Recipe;
  readonly hits: number;
  readonly trials: number;
}

/** Which exact call follows which, learned from calls and what they gave. */
export interface Foresight {
  /** Takes notice of the next call, made by this recipe; says what changed. A way is the same object for as long as it lives. */
  learn(before: readonly Remembered[], next: Remembered, recipe: Recipe): {
    readonly changed: readonly Way[];
    readonly forgotten: readonly Way[];
  };
  /** The calls that may come next, the most probable first. */
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
  return nameOf(tool, canonicalJson(args ?? {}));
}

/** The same for arguments that are canonical JSON already. */
export function nameOf(tool: string, text: string): string | undefined {
  return text.length <= LONGEST_CALL ? `${tool} ${text}` : undefined;
}

interface LiveWay extends Way {
  hits: number;
  trials: number;
  /** The name of the call that it always makes; undefined where that depends on the calls before. */
  readonly always: string | undefined;
}

function liveWay(way: Way): LiveWay {
  const constants = constantsOf(way.recipe);
  return { ...way, always: constants && (callName(way.recipe.tool, constants) ?? "") };
}

export function createForesight(): Foresight {
  const places = createPlaces<Map<string, LiveWay>>({ make: () => new Map(), ...MOST });

  /** Puts a way in and, where there are too many, the worst of the others out. */
  function put(ways: Map<string, LiveWay>, key: string, way: LiveWay): LiveWay | undefined {
    ways.set(key, way);
    if (ways.size <= MOST_WAYS) return undefined;
    const others = [...ways].filter(([other]) => other !== key);
    const [worst, gone] = others.reduce((a, b) => b[1].hits / b[1].trials < a[1].hits / a[1].trials ? b : a);
    ways.delete(worst);
    return gone;
  }

  return {
    learn(before, next, recipe) {
      const [changed, forgotten]: [Way[], Way[]] = [[], []];
      const filled = filler(before);
      let key: string | undefined;
      for (const place of placesOf(before)) {
        const ways = places.visit(place);
        let isKnown = false;
        for (const way of ways.values()) {
          const made = way.always ?? madeBy(way, filled);
          if (made === undefined) continue;
          const isHit = next.call !== "" && made === next.call;
          isKnown ||= isHit;
          way.trials++;
          way.hits += Number(isHit);
          changed.push(way);
        }
        if (isKnown || next.call === "" || !isShort(recipe)) continue;
        key ??= canonicalJson(recipe);
        const way = liveWay({ place, recipe, hits: 1, trials: 1 });
        const worst = put(ways, key, way);
        // After a call that was never made before, nothing is kept that came about once: neither will come again.
        const isLasting = ({ trials }: Way) => trials > 1 || !place.startsWith(CALL);
        if (worst && isLasting(worst)) forgotten.push(worst);
        if (isLasting(way)) changed.push(way);
      }
      return { changed: changed.filter((way) => !forgotten.includes(way)), forgotten };
    },
    foresee(before) {
      const found = new Map<string, Foreseen>();
      const filled = filler(before);
      for (const place of placesOf(before)) {
        for (const { recipe, hits, trials } of places.get(place)?.values() ?? []) {
          const made = staysAtHome(recipe) ? filled(recipe) : undefined;
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
      const ways = trials > 1 ? places.restore(place) : places.visit(place);
      put(ways, canonicalJson(recipe), liveWay({ place, recipe, hits, trials }));
    },
  };
}

/** The name of the call that a way makes now; undefined where something it needs is not there. */
function madeBy({ recipe }: Way, filled: (recipe: Recipe) => JsonObject | undefined): string | undefined {
  const made = filled(recipe);
  return made && (callName(recipe.tool, made) ?? "");
}

/** The last tool, and the last call exactly; of two words on the same call the better founded one counts. */
function placesOf(before: readonly Remembered[]): string[] {
  const last = before.at(-1);
  if (!last) return [];
  return [`tool ${last.tool}`, ...last.call === "" ? [] : [`${CALL}${last.call}`]];
}
