import { type EndedCall, type Learner, type Session, valueOf } from "../call/mod.ts";
import type { Database } from "../db/mod.ts";
import {
  createLearningStore,
  type Experience,
  isPlainKey,
  leavesOf,
  nameOf,
  openExperience,
  type Remembered,
} from "../graphrag/mod.ts";
import {
  AGENT_SERVER,
  canonicalJson,
  createQuietWork,
  isObject,
  type JsonObject,
  messageOf,
  OWN_SERVER,
  terms,
  WORKFLOW_SERVER,
} from "../model/mod.ts";
import { log, type Redactor } from "../telemetry/mod.ts";
import type { SearchExperience, ToolSearch } from "../vector/mod.ts";
import { openJudgements } from "./scope_judgements.ts";
import type { SearchTrail } from "./judgements.ts";

/** What an engine learns from everything that goes through it. */
export interface Learning {
  watch(session: Session): Learner;
  /** The lessons for searches where a session is; undefined until they have been read. */
  searches(session: Session): SearchExperience | undefined;
  /** Takes notice of a run that came to its end: which of its tasks fed which. It is looked at once nothing goes on. */
  ran(session: Session, tasks: () => readonly RanTask[]): void;
  /** Everything that was learned where a session is. */
  experienceOf(session: Session): Promise<Experience>;
  /** What was kept under a name. */
  state(name: string): Promise<unknown>;
  keep(name: string, value: unknown): Promise<void>;
  flush(): Promise<void>;
}

/** A task of a run, with where its arguments came from. */
export interface RanTask {
  readonly tool: string;
  readonly ok: boolean;
  readonly after: readonly string[];
  readonly flows: readonly { readonly from: string; readonly path: string; readonly to: string }[];
}

export interface LearningOptions {
  readonly database: Database;
  readonly redactor: Redactor;
  readonly search: ToolSearch;
}

/** So many calls wait until what was learned before has been read. */
const MOST_WAITING = 500;
/** After so long a rest, or so many calls, what comes next belongs to something else. */
const REST_MS = 15 * 60_000;
const LONGEST_TRAIL = 200;
/** So many calls are remembered with what they were given and gave. */
const REMEMBERED = 8;
/** What is longer is not looked at: a call like it will not come again. */
const LONGEST_ARGUMENTS = 20_000;
const LONGEST_REQUEST = 2_000;
/** Arguments that are called so are nobody's to remember. */
const SECRET =
  /passw(or)?d|secret|token|api.?key|authori[sz]ation|credential|private.?key|cookie|session.?id|\bpin\b|otp/i;

/** Runs are looked at together, after the answers of the last ones have gone out. */
const LATER = { quietMs: 500, latestMs: 5_000 };
/** The results of so many runs are held at the most. */
const MOST_RUNS = 20;

interface Trail {
  request: Set<string>;
  steps: Remembered[];
  at: number;
}

export function createLearning({ database, redactor, search }: LearningOptions): Learning {
  const store = createLearningStore(database);
  const judgements = openJudgements(database, search);
  const scopes = new Map<string, Promise<Experience>>();
  /** What is being learned just now. */
  const working = new Set<Promise<void>>();
  let states: Promise<Record<string, unknown>> | undefined;

  /** Runs that nobody has looked at yet. */
  const over: { readonly session: Session; readonly tasks: () => readonly RanTask[] }[] = [];
  const later = createQuietWork(LATER, lookAtRuns);

  const opened = (session: Session): Promise<Experience> =>
    scopes.getOrInsertComputed(scopeOf(session), () => {
      const opening = openExperience(store, scopeOf(session));
      // Whoever asks next tries again.
      opening.catch(() => scopes.delete(scopeOf(session)));
      return opening;
    });

  const readStates = () => {
    const reading = states ??= store.states();
    // Whoever asks next tries again.
    reading.catch(() => states = undefined);
    return reading;
  };

  /** Does work with what was learned where a session is, once that has been read. */
  function soon(session: Session, work: (experience: Experience) => void, onFailure?: () => void): void {
    const done = opened(session).then(work)
      .catch((error) => {
        onFailure?.();
        log("warning", "learning_failed", { reason: messageOf(error) });
      })
      .finally(() => working.delete(done));
    working.add(done);
  }

  function lookAtRuns(): void {
    later.cancel();
    for (const { session, tasks } of over.splice(0)) {
      soon(session, (experience) => {
        for (const { tool, ok, after, flows } of tasks()) {
          for (const source of after) experience.follow(source, tool, { ok });
          for (const { from, path, to } of flows) experience.follow(from, tool, { ok, path: `${path} → ${to}` });
        }
      });
    }
  }

  function watch(session: Session): Learner {
    const trail: Trail = { request: new Set(), steps: [], at: 0 };
    let waiting: EndedCall[] = [];
    let isUnderWay = false;
    const searches: SearchTrail = { searches: [] };
    soon(session, () => {});
    judgements.open(scopeOf(session));

    function learn(experience: Experience): void {
      const noticed = waiting;
      [waiting, isUnderWay] = [[], false];
      for (const ended of noticed) {
        const step = stepOf(ended, redactor);
        if (!step) continue;
        const now = performance.now();
        if (now - trail.at > REST_MS || trail.steps.length >= LONGEST_TRAIL) {
          [trail.steps, trail.request] = [[], new Set()];
        }
        trail.at = now;
        const { ok } = ended;
        experience.learn(trail, step, { ok, acts: ended.call.effect !== "read" });
        if (!ok) continue;
        trail.steps.push(step);
        const old = trail.steps.length - REMEMBERED - 1;
        if (old >= 0) trail.steps[old] = { tool: trail.steps[old]!.tool, call: trail.steps[old]!.call, arguments: {} };
      }
    }

    return {
      ended(calls) {
        judgements.ended(scopeOf(session), searches, calls.filter(isJudging));
        for (const ended of calls) if (isLearnedFrom(ended) && waiting.length < MOST_WAITING) waiting.push(ended);
        if (isUnderWay || waiting.length === 0) return;
        isUnderWay = true;
        soon(session, learn, () => [waiting, isUnderWay] = [[], false]);
      },
      asked(request, shown = []) {
        const plain = redactor.redact(request.slice(0, LONGEST_REQUEST));
        const said = session.privacy?.hide(plain, "agentcards") ?? plain;
        trail.request = new Set(terms(said));
        if (plain === request && shown.length > 0) judgements.searched(scopeOf(session), searches, said, shown);
      },
      close() {},
    };
  }

  return {
    watch,
    searches: (session) => judgements.experience(scopeOf(session)),
    experienceOf(session) {
      lookAtRuns();
      return opened(session);
    },
    ran(session, tasks) {
      over.push({ session, tasks });
      if (over.length < MOST_RUNS) later.touch();
      else lookAtRuns();
    },
    state: async (name) => (await readStates())[name],
    async keep(name, value) {
      (await readStates())[name] = value;
      store.state(name, value);
    },
    async flush() {
      lookAtRuns();
      await Promise.all(working);
      await store.flush();
      await judgements.flush();
    },
  };
}

/** What is learned belongs to the user, or to a project whose own servers it may be about; hidden values stay apart. */
export function scopeOf({ loaded, config }: Session): string {
  const project = loaded.project?.trusted ? loaded.project.path : "";
  return config.policy.pii === "tokenize" ? `${project} hidden` : project;
}

/** Calls that show which tool was wanted: those of workflows and code, too. */
function isJudging({ call: { method, origin, address: { server } } }: EndedCall): boolean {
  return method === "tools/call" && origin.by !== "speculation" && server !== OWN_SERVER && server !== AGENT_SERVER;
}

/** Calls of tools by an agent or a person, one after the other; those of runs and code come after nothing in particular. */
export function isLearnedFrom({ call: { method, origin, address: { server } } }: Pick<EndedCall, "call">): boolean {
  return method === "tools/call" && origin.by !== "code" && origin.by !== "speculation" && origin.run === undefined &&
    server !== OWN_SERVER &&
    server !== WORKFLOW_SERVER;
}

/** A call as it is remembered; not one that carries a secret, or that nobody could keep. */
export function stepOf(
  { tool, call, result }: Pick<EndedCall, "tool" | "call" | "result">,
  redactor: Redactor,
): Remembered | undefined {
  const args = isObject(call.params.arguments) ? call.params.arguments as JsonObject : {};
  // Sorting the keys of a giant takes longer than to see that it is one.
  if (JSON.stringify(args).length > LONGEST_ARGUMENTS) return undefined;
  const text = canonicalJson(args);
  const names = Object.keys(args);
  if (names.some((name) => !isPlainKey(name) || SECRET.test(name))) return undefined;
  if (redactor.redact(text) !== text || !text.isWellFormed()) return undefined;
  const leaves = result?.kind === "result" ? leavesOf(valueOf(result.result)) : [];
  return { tool, call: nameOf(tool, text) ?? "", arguments: args, leaves };
}

/** Learners that all hear the same. */
export function together(...learners: readonly Learner[]): Learner {
  return {
    ended: (calls) => learners.forEach((one) => one.ended(calls)),
    asked: (request, shown) => learners.forEach((one) => one.asked(request, shown)),
    close: () => learners.forEach((one) => one.close()),
  };
}
