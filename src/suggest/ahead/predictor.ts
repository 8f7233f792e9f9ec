import { nameOf } from "../../graphrag/mod.ts";
import { canonicalJson, type JsonObject } from "../../model/mod.ts";
import { createConversations } from "./conversations.ts";
import { createLogistic, type Signs } from "./logistic.ts";
import { createRates } from "./rates.ts";
import { placesOf } from "./places.ts";
import { readSaved, type SavedPredictor } from "./saved.ts";
import type { Course, Pending, PendingTool, Sight } from "./sight.ts";
import { signsOf, START_WEIGHTS } from "./signs.ts";
import {
  type Instance,
  instancesOf,
  isConstant,
  namesFit,
  type PastCall,
  staysAtHome,
  type Template,
  templateOf,
} from "./template.ts";

/** A read that may be among the next calls of a conversation. */
export interface Candidate {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly call: string;
  /** The probability that it is among the next three calls, with no acting call before it. */
  readonly probability: number;
  readonly signs: Signs;
}

/** Foresees the reads of conversations, and learns from each of their calls. */
export interface Predictor {
  begin(prompt: string): Course;
  /** False for a tool after which nothing has been probable lately: to look for candidates would cost each call of it. */
  isPromising(tool: string): boolean;
  /** The reads that may come next, after one more call where one is given; the most probable first. Learns nothing. */
  foresee(course: Course, next?: PastCall): Candidate[];
  /** The result of a read that was made ahead is known. */
  attach(course: Course, call: string): void;
  /** Adds a read that was made ahead; the returned function says that it was of use. */
  add(course: Course, call: PastCall): () => void;
  /** Remembers the candidates of this moment until their outcome is known. */
  expect(course: Course): void;
  /** Takes notice of the next call of a conversation. */
  learn(course: Course, call: PastCall): void;
  end(course: Course): void;
  save(): SavedPredictor;
  restore(saved: unknown): void;
}

/** A candidate came true if it is among so many of the next calls. */
export const WITHIN = 3;
const MOST_CANDIDATES = 60;
const MOST_TEMPLATES = 24;
const MOST_ANCHORS = 500;
const BACK = 12;
const LONGEST = 2_000;
/** After a tool whose best candidates were less probable than this, none is looked for on the way of a call. */
const PROMISING = 0.01;
const FADING = 0.9;

export function createPredictor(): Predictor {
  const rates = createRates();
  const model = createLogistic(START_WEIGHTS);
  const conversations = createConversations();
  /** By the tool that they start from; those that were seen last stand last. */
  const templates = new Map<string, Map<string, Template>>();

  /** The best probability of a candidate after each tool, fading. */
  const prospects = new Map<string, number>();

  function keep(template: Template): void {
    const own = templates.get(template.anchor) ?? new Map<string, Template>();
    templates.delete(template.anchor);
    templates.set(template.anchor, own);
    if (templates.size > MOST_ANCHORS) templates.delete(templates.keys().next().value!);
    const key = canonicalJson(template);
    if (key.length > LONGEST) return;
    own.delete(key);
    own.set(key, template);
    if (own.size > MOST_TEMPLATES) own.delete(own.keys().next().value!);
  }

  function sightsOf(course: Course): Sight[] {
    const { calls } = course;
    const last = calls.at(-1);
    if (!last) return [];
    const found = new Map<string, { -readonly [K in keyof Sight]: Sight[K] }>();
    const at = (tool: string, args: JsonObject) => {
      const call = nameOf(tool, canonicalJson(args));
      if (call === undefined) return undefined;
      const known = found.get(call);
      if (known) return known;
      if (found.size >= MOST_CANDIDATES) return undefined;
      const sight: Sight = { tool, arguments: args, call, course };
      found.set(call, sight);
      return found.get(call)!;
    };
    const recent = new Set(calls.slice(-BACK).map(({ tool }) => tool).reverse());
    for (const anchor of recent) {
      for (const [key, template] of [...templates.get(anchor) ?? []].slice(-MOST_TEMPLATES)) {
        if (isConstant(template) && anchor !== last.tool) continue;
        const instances = instancesOf(template, calls);
        const reached = lastOf(template.tool, instances, calls);
        for (const instance of instances) {
          const sight = at(template.tool, instance.arguments);
          if (!sight) continue;
          const step = reached === undefined ? undefined : instance.index - reached;
          const made = { key, template, instance, fits: namesFit(template), step };
          const share = rates.share([`template ${key}`]).share;
          if (!sight.made || share > rates.share([`template ${sight.made.key}`]).share) sight.made = made;
        }
      }
    }
    for (const { tool, arguments: args, reads } of calls.slice(-BACK)) if (reads) at(tool, args);
    for (const recalled of conversations.recall(course.prompt, calls)) {
      const sight = at(recalled.tool, recalled.arguments);
      if (sight) sight.recalled = recalled;
    }
    return [...found.values()];
  }

  /** The probability as the outcomes of the same tool at the same level have it. */
  function calibrated(tool: string, probability: number): number {
    const [hits, trials] = rates.seen(levelOf({ tool, probability }));
    return (hits + CALIBRATED * probability) / (trials + CALIBRATED);
  }

  function count({ tool, places, signs }: Pending, outcome: boolean): void {
    model.learn(signs, outcome);
    for (const names of Object.values(places)) rates.note(names, outcome);
    rates.note([levelOf({ tool, probability: model.probability(signs) })], outcome);
  }

  function settle(course: Course, isOver: (pending: Pending) => boolean | undefined): void {
    course.pending = course.pending.filter((pending) => {
      const outcome = isOver(pending);
      if (outcome === undefined) return true;
      count(pending, outcome);
      return false;
    });
  }

  function settleTools(course: Course, isOver: (pending: PendingTool) => boolean | undefined): void {
    course.tools = course.tools.filter((pending) => {
      const outcome = isOver(pending);
      if (outcome !== undefined) rates.note(pending.places, outcome);
      return outcome === undefined;
    });
  }

  /** The candidates of a conversation whose results are not known, with their signs. */
  function seenIn(course: Course) {
    return sightsOf(course).filter(({ call }) => !course.known.has(call)).map((sight) => {
      const places = placesOf(sight);
      return { sight, places, signs: signsOf(sight, rates, places) };
    });
  }

  /** Remembers the candidates of this moment until their outcome is known. */
  function expect(course: Course): void {
    const at = course.calls.length;
    const tools = new Set<string>();
    let best = 0;
    for (const { sight: { tool, call }, places: { tool: ofTool, ...places }, signs } of seenIn(course)) {
      best = Math.max(best, calibrated(tool, model.probability(signs)));
      course.pending.push({ tool, call, places, signs, at });
      if (!tools.has(tool)) course.tools.push({ tool, places: ofTool, at });
      tools.add(tool);
    }
    const last = course.calls.at(-1)?.tool;
    if (last !== undefined) prospect(last, best);
  }

  function prospect(tool: string, best: number): void {
    const before = prospects.get(tool) ?? 0;
    prospects.delete(tool);
    prospects.set(tool, Math.max(best, before * FADING));
    if (prospects.size > MOST_ANCHORS) prospects.delete(prospects.keys().next().value!);
  }

  const isPromising = (tool: string) => (prospects.get(tool) ?? 1) >= PROMISING;

  return {
    begin: (prompt) => ({ prompt, calls: [], pending: [], known: new Set(), tools: [] }),
    isPromising,
    foresee(course, next) {
      if (next && !isPromising(next.tool)) return [];
      return seenIn(next ? withNext(course, next) : course).map((
        { sight: { tool, arguments: args, call }, signs },
      ) => ({
        tool,
        arguments: args,
        call,
        probability: calibrated(tool, model.probability(signs)),
        signs,
      })).sort((a, b) => b.probability - a.probability);
    },
    learn(course, call) {
      const { calls } = course;
      const isPast = ({ at }: { readonly at: number }) => !call.reads || calls.length + 1 - at >= WITHIN;
      settle(course, (one) => {
        if (call.call !== "" && one.call === call.call) return true;
        return isPast(one) ? false : undefined;
      });
      settleTools(course, (one) => one.tool === call.tool ? true : isPast(one) ? false : undefined);
      const template = call.reads && call.call !== "" ? templateOf(call, calls) : undefined;
      if (template && staysAtHome(template)) keep(template);
      if (!call.reads) course.known.clear();
      course.known.add(call.call);
      calls.push(call);
      expect(course);
    },
    attach: (course, call) => void course.known.add(call),
    expect,
    add(course, call) {
      if (!call.reads) course.known.clear();
      course.known.add(call.call);
      course.calls.push(call);
      // Whether it would have been called for is not known any more.
      const [own, others] = [
        course.pending.filter((one) => one.call === call.call),
        course.pending.filter((one) => one.call !== call.call),
      ];
      course.pending = others;
      return () => own.forEach((one) => count(one, true));
    },
    end(course) {
      settle(course, () => false);
      settleTools(course, () => false);
      const { prompt, calls } = course;
      conversations.add({
        prompt,
        calls: calls.map(({ tool, call, arguments: args, reads }) => ({ tool, call, arguments: args, reads })),
      });
    },
    save: () => ({
      weights: model.weights(),
      rates: rates.all(),
      templates: [...templates].flatMap(([, own]) => [...own.values()]),
      conversations: conversations.all(),
    }),
    restore(saved) {
      const { weights, rates: shares, templates, conversations: known } = readSaved(saved);
      model.restore(weights);
      rates.restore(shares);
      for (const template of templates) keep(template);
      for (const conversation of known) conversations.add(conversation);
    },
  };
}

/** A conversation as it is after one more call. */
function withNext(course: Course, next: PastCall): Course {
  const known = new Set(next.reads ? [...course.known, next.call] : [next.call]);
  return { ...course, known, calls: [...course.calls, next] };
}

/** Probabilities of one tool are compared with their outcomes within some levels. */
function levelOf({ tool, probability }: { readonly tool: string; readonly probability: number }): string {
  return `level ${tool} ${LEVELS.filter((level) => probability >= level).length}`;
}

const LEVELS = [0.2, 0.4];
const CALIBRATED = 10;

/** The place in a list of the item that a tool was called for last. */
function lastOf(tool: string, instances: readonly Instance[], calls: readonly PastCall[]): number | undefined {
  const places = new Map(instances.map(({ arguments: args, index }) => [canonicalJson(args), index]));
  for (const call of calls.slice(-BACK).reverse()) {
    const index = call.tool === tool ? places.get(canonicalJson(call.arguments)) : undefined;
    if (index !== undefined) return index;
  }
}
