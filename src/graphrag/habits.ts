import { terms } from "../model/mod.ts";
import { lowerBound } from "./bound.ts";
import { createPlaces, type Places } from "./two_queue_cache.ts";

/** One call of a trail: which tool, and which call exactly. */
export interface Step {
  readonly tool: string;
  /** The tool with its arguments, so that the same call has the same name; empty for one too long to have one. */
  readonly call: string;
}

/** Calls that belong together, in their order, and the words they were asked for with. */
export interface Trail {
  readonly request: ReadonlySet<string>;
  readonly steps: readonly Step[];
}

/** A tool that may come next. */
export interface Prediction {
  readonly tool: string;
  /** Its probability by habits alone. */
  readonly confidence: number;
  /** The share that one may count on: what came next in the same place, by the lower bound of what was seen. */
  readonly bound: number;
}

/** The count of one successor in one place. */
export interface Tally {
  total: number;
  readonly next: Map<string, number>;
}

/** Counts of which call followed which. */
export interface Habits {
  /** Notes what came next; gives what of it is worth keeping for longer: places, and what came next there once more. */
  learn(trail: Trail, next: Step): (readonly [place: string, next: string])[];
  predict(trail: Trail, most: number): Prediction[];
  /** Notes that something came next in a place of its own kind: what that is called, and how often it did by now. */
  note(place: readonly string[], next: string): { readonly place: string; readonly count: number };
  restore(place: string, next: string, count: number): void;
  /** The successors in a place of its own kind, the most frequent first. */
  seen(place: readonly string[]): { readonly total: number; readonly next: readonly (readonly [string, number])[] };
}

/** The weight of each sign, as an exponent. */
const WEIGHTS = { one: 0.3, two: 0.6, three: 0.5, call: 0.8, calls: 0.6, named: 3, words: 0.7 } as const;
/** The weight of a place's own counts against those of wider places. */
const NOVELTY = 0.75;
const FLOOR = 0.01;
/** A word says something about tools only after it was used a few times. */
const RARE = 3;
/** As if a word had been used so often with everything, as usual. */
const USUALLY = 3;
const BOUNDED = 3;
/** So many of the tools that are used most are thought of in any place. */
const USUAL = 50;
const SEPARATOR = "\u001f";
/** Kinds of places that are about calls with all their arguments. */
const EXACT = ["call", "calls"];
/** The place that everything is seen in. */
const ANYWHERE = "any";
const MOST = { mostKnown: 10_000, mostNew: 2_000 };
/** So many different things are remembered to have come next in one place. */
const MOST_NEXT = 64;
/** Longer runs of one tool are not told apart. */
const LONGEST_RUN = 9;

export function createHabits(): Habits {
  const make = (): Tally => ({ total: 0, next: new Map() });
  const places = createPlaces<Tally>({ make, ...MOST });
  // How often each tool is used at all is forgotten last.
  const overall = make();
  const tallies: Pick<Places<Tally>, "get" | "visit"> = {
    get: (place) => place !== ANYWHERE ? places.get(place) : overall.total > 0 ? overall : undefined,
    visit: (place) => place === ANYWHERE ? overall : places.visit(place),
  };
  const nameWords = new Map<string, ReadonlySet<string>>();

  function add(place: string, tally: Tally, next: string, count: number): void {
    tally.total += count;
    tally.next.set(next, (tally.next.get(next) ?? 0) + count);
    // Of what came once, the oldest goes: a value that is another each time says nothing.
    if (place !== ANYWHERE && tally.next.size > MOST_NEXT) {
      tally.next.delete(rarestOf(tally.next));
    }
  }

  /** A call that was never made before is likely never made again: it is kept from its second time on. */
  function worthKeeping(place: string, next: string): (readonly [string, string])[] {
    const tally = tallies.get(place)!;
    const isOfCalls = EXACT.some((kind) => place.startsWith(kind + SEPARATOR));
    if (!isOfCalls || tally.total > 2) return [[place, next]];
    return tally.total < 2 ? [] : [...tally.next].flatMap(([tool, count]) => Array(count).fill([place, tool]));
  }

  const wordsOf = (tool: string) => nameWords.getOrInsertComputed(tool, () => new Set(terms(tool)));

  /** Chances of what comes next: what was seen in this place, and for the rest what is known of the wider one. */
  function narrowed(place: string, wider: (tool: string) => number): (tool: string) => number {
    const tally = tallies.get(place);
    if (!tally) return wider;
    const own = tally.total / (tally.total + NOVELTY * tally.next.size);
    return (tool) => own * (tally.next.get(tool) ?? 0) / tally.total + (1 - own) * wider(tool);
  }

  /** The candidates: successors in these places, and the tools that are used most. */
  function candidatesFor(places: readonly string[]): Set<string> {
    const usual = [...tallies.get(ANYWHERE)!.next].sort(([, a], [, b]) => b - a).slice(0, USUAL).map(([tool]) => tool);
    return new Set([...usual, ...places.flatMap((place) => [...tallies.get(place)?.next.keys() ?? []])]);
  }

  return {
    learn(trail, next) {
      const places = [...new Set([...placesOf(trail), ...wordPlaces(trail)])];
      for (const place of places) add(place, tallies.visit(place), next.tool, 1);
      return places.flatMap((place) => worthKeeping(place, next.tool));
    },
    predict(trail, most) {
      const any = tallies.get(ANYWHERE);
      if (!any) return [];
      const [anywhere, one, two, three, call, calls] = placesOf(trail);
      const base = narrowed(anywhere!, () => 1 / (any.next.size + 1));
      const [afterOne, afterTwo] = [narrowed(one!, base), narrowed(two!, narrowed(one!, base))];
      const afterThree = narrowed(three!, afterTwo);
      const afterCall = narrowed(call!, afterTwo);
      const afterCalls = narrowed(calls!, afterCall);
      const said = wordsSaid(trail.request, tallies);
      const called = new Set(trail.steps.map(({ tool }) => tool));
      const score = (tool: string) => {
        const known = Math.log(afterTwo(tool) + FLOOR);
        return WEIGHTS.one * Math.log(afterOne(tool) + FLOOR) + WEIGHTS.two * known +
          WEIGHTS.three * Math.log(afterThree(tool) + FLOOR) +
          WEIGHTS.call * (Math.log(afterCall(tool) + FLOOR) - known) +
          WEIGHTS.calls * (Math.log(afterCalls(tool) + FLOOR) - known) +
          WEIGHTS.named * (called.has(tool) ? 0 : shareSaid(wordsOf(tool), trail.request)) +
          WEIGHTS.words * said(tool);
      };
      const candidates = [...candidatesFor([one!, two!, call!, ...wordPlaces(trail)])];
      const scores = candidates.map(score);
      const best = Math.max(...scores);
      const powers = scores.map((value) => Math.exp(value - best));
      const sum = powers.reduce((total, power) => total + power, 0);
      const bounds = [one!, two!, three!, runOf(trail)];
      return candidates.map((tool, i) => ({ tool, confidence: powers[i]! / sum }))
        .sort((a, b) => b.confidence - a.confidence).slice(0, most)
        .map((prediction) => ({ ...prediction, bound: boundOf(prediction.tool, bounds, tallies) }));
    },
    note(place, next) {
      const name = place.join(SEPARATOR);
      add(name, tallies.visit(name), next, 1);
      return { place: name, count: tallies.get(name)?.next.get(next) ?? 0 };
    },
    restore(place, next, count) {
      const isKnown = place !== ANYWHERE && count > 1;
      add(place, isKnown ? places.restore(place) : tallies.visit(place), next, count);
    },
    seen(place) {
      const { total = 0, next } = tallies.get(place.join(SEPARATOR)) ?? {};
      return { total, next: [...next ?? []].sort(([, a], [, b]) => b - a) };
    },
  };
}

/** Everything that what comes next can be expected by, the widest first. */
function placesOf({ steps }: Trail): string[] {
  const tools = steps.slice(-BOUNDED).map(({ tool }) => tool);
  const calls = steps.slice(-2).map(({ call }) => call);
  while (tools.length < BOUNDED) tools.unshift("");
  while (calls.length < 2) calls.unshift("");
  return [
    ANYWHERE,
    ["tool", tools[2]!].join(SEPARATOR),
    ["tools", tools[1]!, tools[2]!].join(SEPARATOR),
    ["trail", ...tools].join(SEPARATOR),
    // A call without a name is no place of its own.
    steps.at(-1)?.call === "" ? ["tools", tools[1]!, tools[2]!].join(SEPARATOR) : ["call", calls[1]!].join(SEPARATOR),
    steps.slice(-2).some(({ call }) => call === "")
      ? ["tools", tools[1]!, tools[2]!].join(SEPARATOR)
      : ["calls", ...calls].join(SEPARATOR),
    runOf({ steps }),
  ];
}

function wordPlaces({ request }: Trail): string[] {
  return [...request].map((word) => ["word", word].join(SEPARATOR));
}

/** The number of calls of the last tool in a row: work that is done once per item of a list ends. */
function runOf({ steps }: Pick<Trail, "steps">): string {
  const last = steps.at(-1)?.tool ?? "";
  let length = 0;
  while (length < LONGEST_RUN && length < steps.length && steps.at(-1 - length)!.tool === last) length++;
  return ["run", last, String(length)].join(SEPARATOR);
}

/** The oldest of those that came least often. */
function rarestOf(next: ReadonlyMap<string, number>): string {
  let [rarest, least] = ["", Infinity];
  for (const [what, times] of next) {
    if (times < least) [rarest, least] = [what, times];
    // Nothing came less often than once.
    if (least === 1) break;
  }
  return rarest;
}

function boundOf(tool: string, places: readonly string[], tallies: Pick<Places<Tally>, "get">): number {
  return Math.max(...places.map((place) => {
    const tally = tallies.get(place);
    return tally ? lowerBound(tally.next.get(tool) ?? 0, tally.total) : 0;
  }));
}

function shareSaid(words: ReadonlySet<string>, request: ReadonlySet<string>): number {
  return words.size === 0 ? 0 : words.intersection(request).size / words.size;
}

/** The factor by which a request's words raise the probability of a tool. */
function wordsSaid(request: ReadonlySet<string>, tallies: Pick<Places<Tally>, "get">): (tool: string) => number {
  const any = tallies.get(ANYWHERE)!;
  const known = [...request].flatMap((word) => {
    const tally = tallies.get(["word", word].join(SEPARATOR));
    return tally && tally.total >= RARE ? [tally] : [];
  });
  if (known.length === 0) return () => 0;
  return (tool) => {
    const usual = (any.next.get(tool) ?? 0) + USUALLY;
    const sum = known.reduce((total, tally) => {
      const share = (tally.total + 0.5) / (any.total + 1);
      return total + Math.log(((tally.next.get(tool) ?? 0) + USUALLY * share) / usual / share);
    }, 0);
    return Math.max(-3, Math.min(3, sum / Math.sqrt(known.length)));
  };
}
