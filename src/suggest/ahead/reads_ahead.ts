import { type EndedCall, type Learner, type Session, toolCall } from "../../call/mod.ts";
import { createBudget, WASTE } from "../../graphrag/mod.ts";
import {
  type Caller,
  createQuietWork,
  isObject,
  type Json,
  type JsonObject,
  messageOf,
  readBySchema,
  splitToolId,
  type ToolResult,
} from "../../model/mod.ts";
import { costOf } from "../../policy/mod.ts";
import { log, type Redactor } from "../../telemetry/mod.ts";
import { type Learning, scopeOf } from "../learning.ts";
import { toolAhead } from "./allowed.ts";
import { attachable, blocksFor, isText, type ReadAhead } from "./attachment.ts";
import { AHEAD, chosen } from "./choose.ts";
import {
  type AheadCall,
  beginLive,
  endLive,
  followPrompt,
  type Live,
  pastCall,
  placeAhead,
  takeCall,
} from "./course_of.ts";
import { makeRead } from "./make.ts";
import { type Candidate, createPredictor, type Predictor } from "./predictor.ts";
import type { PastCall } from "./template.ts";

/** Reads that are made ahead of being asked for, and attached to the answer of another call. */
export interface ReadsAhead {
  /** Learns from the calls of a session. */
  watch(session: Session): Learner;
  /** A call of the agent begins; what it gives ends that. */
  begin(session: Session): () => void;
  /** The answer of a call, with the reads that probably come next attached. */
  attach(session: Session, made: MadeCall, caller: Caller): Promise<ToolResult>;
  /** Takes notice of the calls of a run that ended or pauses: reads to attach to its answer, and tasks that may be next. */
  afterRun(session: Session, run: MadeRun, caller: Caller): Promise<AfterRun>;
  /** The reads since the engine began, and those that were seen to be of use. */
  status(): { readonly made: number; readonly used: number };
  flush(): Promise<void>;
}

/** A call that was answered. */
export interface MadeCall {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly result: ToolResult;
}

/** The calls of a run that were answered, by their tasks. */
export interface MadeRun {
  readonly id: string;
  readonly calls: readonly (MadeCall & { readonly task: string })[];
}

export interface AfterRun {
  readonly blocks: readonly Json[];
  readonly next: readonly { readonly tool: string; readonly arguments: JsonObject }[];
}

const NOTHING: AfterRun = { blocks: [], next: [] };

/** Arguments as their server got them. */
function readAs(session: Session, { tool, arguments: args }: MadeCall): JsonObject {
  const known = session.tool(tool);
  return known ? readBySchema(args, known.inputSchema) as JsonObject : args;
}

/** So much later than the answer alone an answer with attachments comes. */
const WITHIN_MS = 300;
/** One in so many reads that could be made is not: whether it is called for shows how good predictions are. */
const HELD_BACK = 10;
const HOUR_MS = 3_600_000;
/** Lessons are kept when nothing was learned for a while. */
const KEPT = { quietMs: 5_000, latestMs: 60_000 };
/** The weight of the newest call in the usual time of its tool. */
const NEWEST = 0.3;
/** The most tools whose usual time is kept. */
const MOST_TIMES = 500;

/** Everything about one scope. */
interface Scope {
  readonly predictor: Predictor;
  readonly budget: ReturnType<typeof createBudget>;
  /** The usual time of each tool. */
  readonly times: Map<string, number>;
  isChanged: boolean;
}

function readScope(saved: unknown): Scope {
  const { learned, budget: sum, times } = isObject(saved) ? saved : {};
  const [predictor, budget] = [createPredictor(), createBudget(WASTE)];
  predictor.restore(learned);
  if (isObject(sum) && typeof sum.total === "number" && typeof sum.wasted === "number") {
    budget.restore({ total: sum.total, wasted: sum.wasted });
  }
  const known = Object.entries(isObject(times) ? times : {})
    .filter((entry): entry is [string, number] => typeof entry[1] === "number");
  return { predictor, budget, times: new Map(known), isChanged: false };
}

function savedScope({ predictor, budget, times }: Scope): JsonObject {
  return {
    learned: predictor.save() as unknown as JsonObject,
    budget: budget.sum(),
    times: Object.fromEntries([...times].slice(-MOST_TIMES)),
  };
}

export function createReadsAhead(
  { learning, redactor }: { readonly learning: Pick<Learning, "state" | "keep">; readonly redactor: Redactor },
): ReadsAhead {
  const opening = new Map<string, Promise<Scope>>();
  const opened = new Map<string, Scope>();
  const lives = new WeakMap<Session, Live>();
  const working = new Set<Promise<void>>();
  const spent: { readonly at: number; readonly usd: number }[] = [];
  const keeping = createQuietWork(KEPT, () => void keep());
  const figures = { made: 0, used: 0 };
  let held = 0;

  function open(name: string): Promise<Scope> {
    return opening.getOrInsertComputed(name, () => {
      const reading = learning.state(`ahead ${name}`).then((saved) => {
        const scope = readScope(saved);
        opened.set(name, scope);
        return scope;
      });
      // Whoever asks next tries again.
      reading.catch(() => opening.delete(name));
      return reading;
    });
  }

  async function keep(): Promise<void> {
    keeping.cancel();
    for (const [name, scope] of opened) {
      if (!scope.isChanged) continue;
      scope.isChanged = false;
      await learning.keep(`ahead ${name}`, savedScope(scope)).catch(() => scope.isChanged = true);
    }
  }

  const liveOf = (session: Session, { predictor }: Scope) =>
    lives.getOrInsertComputed(session, () => beginLive(predictor, session));

  function learn(session: Session, scope: Scope, calls: readonly EndedCall[]): void {
    const live = liveOf(session, scope);
    for (const ended of calls) {
      const step = pastCall(ended, redactor);
      if (!step) continue;
      scope.budget.note(ended.ms);
      const usual = scope.times.get(step.tool) ?? ended.ms;
      scope.times.set(step.tool, usual + NEWEST * (ended.ms - usual));
      followPrompt(live, redactor);
      if (ended.ok) takeCall(live, step);
      scope.isChanged = true;
    }
    keeping.touch();
  }

  /** The candidates that may be made now. */
  function choose(session: Session, scope: Scope, candidates: readonly Candidate[]): Candidate[] {
    const { policy } = session.config;
    const now = Date.now();
    while (spent[0] && now - spent[0].at > HOUR_MS) spent.shift();
    let cost = spent.reduce((sum, { usd }) => sum + usd, 0);
    let [ms, room] = [0, AHEAD.reads as number];
    return chosen(candidates, Infinity).filter(({ tool }) => {
      const usual = scope.times.get(tool) ?? WITHIN_MS;
      const usd = costOf(policy.speculate.costs, tool);
      if (room === 0 || usual > WITHIN_MS || !toolAhead(session, tool)) return false;
      if (cost + usd > policy.speculate.cost_usd && usd > 0 || !scope.budget.allows(ms + usual)) return false;
      if (++held % HELD_BACK === 0) return false;
      [ms, room, cost] = [ms + usual, room - 1, cost + usd];
      if (usd > 0) spent.push({ at: now, usd });
      return true;
    });
  }

  async function make(
    session: Session,
    { scope, live, after, candidates, caller }: {
      readonly scope: Scope;
      readonly live: Live;
      readonly after: string;
      readonly candidates: readonly Candidate[];
      readonly caller: Caller;
    },
  ): Promise<ReadAhead[]> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), WITHIN_MS);
    try {
      const reads = await Promise.all(candidates.map(async (candidate): Promise<ReadAhead | undefined> => {
        const { tool, arguments: args, probability } = candidate;
        const began = performance.now();
        const risk = scope.budget.risk(scope.times.get(tool) ?? WITHIN_MS);
        const result = await makeRead(session, candidate, { caller, signal: late.signal });
        const ms = performance.now() - began;
        const isOfUse = result !== undefined && isText(result);
        if (!isOfUse) risk({ used: false, ms });
        else live.ahead.push(aheadCall(session, { candidate, after, result, ms, probability, risk }));
        return isOfUse ? { tool, arguments: args, result } : undefined;
      }));
      return reads.filter((read) => read !== undefined);
    } finally {
      clearTimeout(timer);
    }
  }

  function aheadCall(
    session: Session,
    { candidate, after, result, ms, probability, risk }: {
      readonly candidate: Candidate;
      readonly after: string;
      readonly result: ToolResult;
      readonly ms: number;
      readonly probability: number;
      readonly risk: (end: { readonly used: boolean; readonly ms: number }) => void;
    },
  ): AheadCall {
    figures.made++;
    const { tool, arguments: args, call } = candidate;
    const known = stepFor(session, { tool, arguments: args, result });
    const step: PastCall = known ?? { tool, arguments: args, call, reads: true, leaves: [] };
    return {
      step,
      after,
      ms,
      probability,
      since: 0,
      settle(used) {
        figures.used += Number(used);
        // An agent that has a result need not show it: without a sign, the probability counts.
        risk(used ? { used, ms } : { used, ms: ms * (1 - probability) });
      },
    };
  }

  /** A call as the observer will see it. */
  function stepFor(session: Session, { tool, arguments: args, result }: MadeCall): PastCall | undefined {
    const { server = "", name } = splitToolId(tool);
    const caller: Caller = { signal: new AbortController().signal, client: {}, human: { kind: "nobody" } };
    const call = toolCall(session, { server, name }, { arguments: args }, { caller, origin: { by: "agent" } });
    return pastCall({ tool, call, result: { kind: "result", result } }, redactor);
  }

  return {
    watch(session) {
      open(scopeOf(session)).catch(() => {});
      return {
        ended(calls) {
          if (!session.config.policy.speculate.enabled) return;
          const done = open(scopeOf(session)).then((scope) => learn(session, scope, calls))
            .catch((error) => log("warning", "learning_failed", { reason: messageOf(error) }))
            .finally(() => working.delete(done));
          working.add(done);
        },
        asked() {},
        close() {
          const live = lives.get(session);
          if (live) endLive(live);
          lives.delete(session);
        },
      };
    },
    begin(session) {
      const live = lives.get(session);
      if (live) live.open++;
      return () => {
        if (live) live.open--;
      };
    },
    async attach(session, made, caller) {
      const scope = opened.get(scopeOf(session));
      const live = lives.get(session);
      // An agent that makes several calls at once has decided already what it wants to read.
      if (!scope || !live || live.open > 0 || !session.config.policy.speculate.enabled) return made.result;
      if (!scope.predictor.isPromising(made.tool)) return made.result;
      const bare = made.result.isError === true ? undefined : attachable(session, made.result);
      const step = bare && stepFor(session, { ...made, arguments: readAs(session, made) });
      if (!step) return made.result;
      const isNoted = live.course.calls.at(-1)?.call === step.call;
      const candidates = choose(session, scope, scope.predictor.foresee(live.course, isNoted ? undefined : step));
      if (candidates.length === 0) return made.result;
      const reads = await make(session, { scope, live, after: step.call, candidates, caller });
      placeAhead(live);
      const blocks = await blocksFor(session, reads, AHEAD.tokens);
      if (blocks.length === 0) return made.result;
      return { ...bare, content: [...Array.isArray(bare!.content) ? bare!.content as Json[] : [], ...blocks] };
    },
    async afterRun(session, { id, calls }, caller) {
      const scope = opened.get(scopeOf(session));
      if (!scope || !session.config.policy.speculate.enabled) return NOTHING;
      const live = liveOf(session, scope);
      followPrompt(live, redactor);
      const steps = calls.flatMap((made) => {
        const step = live.tasks.has(`${id} ${made.task}`) ? undefined : stepFor(session, made);
        return step ? [{ task: made.task, step }] : [];
      });
      for (const { task, step } of steps) {
        live.tasks.add(`${id} ${task}`);
        scope.predictor.add(live.course, step);
      }
      const after = live.course.calls.at(-1)?.call;
      if (steps.length === 0 || after === undefined) return NOTHING;
      scope.predictor.expect(live.course);
      const all = scope.predictor.foresee(live.course);
      const candidates = choose(session, scope, all);
      const reads = await make(session, { scope, live, after, candidates, caller });
      placeAhead(live);
      const blocks = await blocksFor(session, reads, AHEAD.tokens);
      const next = all.filter((one) =>
        one.probability >= AHEAD.next && !candidates.includes(one) && toolAhead(session, one.tool)
      ).slice(0, AHEAD.reads).map(({ tool, arguments: args }) => ({ tool, arguments: args }));
      return { blocks, next };
    },
    status: () => ({ ...figures }),
    async flush() {
      await Promise.all(working);
      await keep();
    },
  };
}
