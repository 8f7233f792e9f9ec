import { createToolBook, knownTools, planTasks, type Session } from "../call/mod.ts";
import type { RunOptions, RunState, Task } from "../dag/mod.ts";
import {
  type Experience,
  lowerBound,
  type Mode,
  modeFor,
  type Outcome,
  reliability,
  speculateAt,
  withOutcome,
} from "../graphrag/mod.ts";
import {
  AgentCardsError,
  canonicalJson,
  isObject,
  type Json,
  type JsonObject,
  messageOf,
  splitToolId,
  type Tool,
  WORKFLOW_SERVER,
} from "../model/mod.ts";
import { costOf, effectOf, judge, maySpeculate } from "../policy/mod.ts";
import { log } from "../telemetry/mod.ts";
import { type Completion, completionOf } from "./complete.ts";
import type { Episodes } from "./episodes/episodes.ts";
import { nearEpisode } from "./episodes/near.ts";
import type { Learning } from "./learning.ts";
import { wordsOf } from "./words_of.ts";
import { chooseTools, findAmong } from "./choice.ts";
import { type EarlierTask, type Hints, planChoices, type SuggestedTask, type Suggestion } from "./draft.ts";

/** A suggestion, and what is to be done with it. */
export interface Proposal extends Suggestion {
  readonly mode: Mode;
  /** What keeps the workflow from being run as it stands. */
  readonly problem?: string;
  readonly notes: readonly string[];
  /** The intent of the episode that it was made of. */
  readonly episode?: string;
  /** The tools that fit what is wanted best, for whoever plans it by hand. */
  readonly likely: readonly Tool[];
}

/** Workflows for what is wanted in words, and what became of those that were suggested. */
export interface Suggestions {
  suggest(session: Session, intent: string): Promise<Proposal>;
  /** The arguments that tasks lack and that outputs of earlier tasks fit; `toolOf` knows their tools. */
  complete(session: Session, tasks: unknown, toolOf: (name: string) => Tool | undefined): Promise<Completion>;
  /** Tasks for what else is wanted of a run. */
  extend(session: Session, requirement: string, state: RunState): Promise<Proposal>;
  /** A workflow was suggested and began as `run`, if it did. */
  offered(session: Session, intent: string, proposal: Proposal, run?: string): void;
  /** Somebody runs tasks of their own: those that were suggested, or others. Gives what they were suggested for. */
  ran(session: Session, tasks: unknown): string | undefined;
  /** A run began for an intent; without one for what the user said last. */
  began(session: Session, run: string, intent: string | undefined): void;
  /** A run succeeded: its tasks are an episode of its intent. */
  succeeded(session: Session, run: string, plan: readonly Task[]): void;
  /** Somebody goes on with a run that began as a suggestion, or does not. */
  decided(run: string, isWanted: boolean): void;
  status(): Promise<{ readonly outcomes: number; readonly right: number; readonly speculate_at: number }>;
}

interface Offer {
  readonly experience: Promise<Experience>;
  readonly words: readonly string[];
  readonly tasks: readonly SuggestedTask[];
  readonly confidence: number;
  readonly at: number;
  readonly run?: string;
  readonly session: Session;
  readonly intent: string;
  readonly episode?: string;
}

/** So long what somebody runs is an answer to what was suggested. */
const ANSWERED_WITHIN_MS = 10 * 60_000;
const ALWAYS = { times: 3, share: 0.9 };
/** A word that came with more plans than this says nothing about any of them. */
const SAYS_SOMETHING = 60;
const MOST_OFFERS = 200;
const SHOWN_LIKELY = 5;
/** Where outcomes are kept. */
const OUTCOMES = "outcomes";

export function createSuggestions(learning: Learning, episodes: Episodes): Suggestions {
  const offers = new WeakMap<Session, Offer>();
  const byRun = new Map<string, Offer>();
  /** The intents of runs that are not over. */
  const intents = new Map<string, string>();

  async function propose(session: Session, intent: string, before: readonly EarlierTask[]): Promise<Proposal> {
    const { tools, notes } = await knownTools(session);
    const { policy } = session.config;
    // A saved workflow is called by itself.
    const allowed = tools.filter(({ id, server }) => server !== WORKFLOW_SERVER && judge(policy, id).kind !== "deny");
    const experience = await learning.experienceOf(session);
    const find = findAmong(session.shared.search, allowed);
    const chosen = await chooseTools(intent, find);
    const byId = new Map(allowed.map((tool) => [tool.id, tool]));
    const reads = (id: string) => byId.has(id) && effectOf(policy, byId.get(id)!) === "read";
    const hints = hintsOf(experience, {
      words: wordsOf(intent),
      reads,
    });
    const planned = planChoices(chosen, hints, before);
    const near = before.length > 0
      ? undefined
      : await nearEpisode(intent, await episodes.all(session), { find, toolOf: (id) => byId.get(id), reads });
    const suggestion = near && near.confidence > planned.confidence ? near : planned;
    const likely = (await find(intent, SHOWN_LIKELY)).hits.map(({ tool }) => tool);
    const problem = suggestion.tasks.length === 0
      ? "no tool fits what is wanted"
      : suggestion.missing.length > 0
      ? undefined
      : await problemOf(session, suggestion.tasks, before);
    const confidence = problem === undefined ? suggestion.confidence : Math.min(suggestion.confidence, 0.5);
    const isRunnable = problem === undefined && suggestion.missing.length === 0 && policy.speculate.enabled;
    const mode = modeFor(confidence, outcomesOf(await learning.state(OUTCOMES)));
    return {
      ...suggestion,
      confidence,
      mode: mode === "speculative_execution" && !isRunnable ? "suggestion" : mode,
      ...problem !== undefined && { problem },
      notes,
      likely,
    };
  }

  async function judgeOffer(
    { experience, words, tasks, confidence, session, episode }: Offer,
    right: boolean,
  ): Promise<void> {
    if (episode !== undefined) await episodes.judged(session, episode, right);
    const outcomes = outcomesOf(await learning.state(OUTCOMES));
    await learning.keep(OUTCOMES, withOutcome(outcomes, { confidence, right }));
    if (!right) return;
    const { note } = await experience;
    for (const word of words) note(["asked", word], planName(tasks.map(({ tool }) => tool)));
  }

  function judged(offer: Offer, right: boolean): void {
    judgeOffer(offer, right).catch((error) => log("warning", "learning_failed", { reason: messageOf(error) }));
  }

  return {
    suggest: (session, intent) => propose(session, intent, []),
    async complete(session, tasks, toolOf) {
      const experience = await learning.experienceOf(session);
      return completionOf(tasks, toolOf, hintsOf(experience, { words: [], reads: () => false }));
    },
    async extend(session, requirement, { plan, tasks }) {
      const done = plan.filter((task) => task.type === "tool" && tasks.get(task.id)?.status !== "skipped");
      const before = done.flatMap((task): EarlierTask[] => {
        if (task.type !== "tool") return [];
        const { server = "", name } = splitToolId(task.tool);
        const tool = session.inMemory(server, name);
        return tool ? [{ id: task.id, tool }] : [];
      });
      return await propose(session, requirement, before);
    },
    offered(session, intent, { tasks, confidence, episode }, run) {
      const offer = {
        session,
        intent,
        ...episode !== undefined && { episode },
        experience: learning.experienceOf(session),
        words: wordsOf(intent),
        tasks,
        confidence,
        at: Date.now(),
        ...run !== undefined && { run },
      };
      offers.set(session, offer);
      if (run === undefined) return;
      byRun.set(run, offer);
      intents.set(run, intent);
      for (const old of [...byRun.keys()].slice(0, -MOST_OFFERS)) byRun.delete(old);
    },
    ran(session, tasks) {
      const offer = offers.get(session);
      offers.delete(session);
      if (!offer || offer.run !== undefined || Date.now() - offer.at > ANSWERED_WITHIN_MS) return undefined;
      judged(offer, isAsSuggested(tasks, offer.tasks));
      return hasSameTools(tasks, offer.tasks) ? offer.intent : undefined;
    },
    began(session, run, intent) {
      const meant = intent ?? session.words.texts().at(-1);
      if (meant === undefined) return;
      intents.set(run, session.privacy?.hide(meant, "agentcards") ?? meant);
      for (const old of [...intents.keys()].slice(0, -MOST_OFFERS)) intents.delete(old);
    },
    succeeded(session, run, plan) {
      const intent = intents.get(run);
      intents.delete(run);
      const tasks = plan.flatMap((task) => task.type === "tool" && !task.until && !task.when ? [task] : []);
      if (intent === undefined || tasks.length !== plan.length) return;
      const bare = tasks.map(({ id, tool, arguments: args, depends_on }) => ({
        id,
        tool,
        arguments: args,
        ...depends_on.length > 0 && { depends_on },
      }));
      episodes.remember(session, intent, bare)
        .catch((error) => log("warning", "learning_failed", { reason: messageOf(error) }));
    },
    decided(run, isWanted) {
      const offer = byRun.get(run);
      if (!offer) return;
      byRun.delete(run);
      judged(offer, isWanted);
    },
    async status() {
      const outcomes = outcomesOf(await learning.state(OUTCOMES));
      return {
        outcomes: outcomes.length,
        right: outcomes.filter(({ right }) => right).length,
        speculate_at: speculateAt(outcomes),
      };
    },
  };
}

/** How a workflow goes whose safe part is run at once: everything that does more than read waits to be asked for. */
export function cautiously(
  { policy }: Session["config"],
  tasks: readonly SuggestedTask[],
  toolOf: (id: string) => Tool | undefined,
): { readonly tasks: readonly JsonObject[]; readonly options: RunOptions } {
  let spent = 0;
  const careful = tasks.map((task) => {
    const tool = toolOf(task.tool);
    const cost = tool ? costOf(policy.speculate.costs, tool.id) : 0;
    const isSafe = tool !== undefined && maySpeculate(policy, tool) && spent + cost <= policy.speculate.cost_usd;
    if (isSafe) spent += cost;
    return { ...task, ...!isSafe && { side_effects: true } } as unknown as JsonObject;
  });
  return { tasks: careful, options: { pause: "effects" } };
}

function planName(tools: readonly string[]): string {
  return tools.join(" + ");
}

/** Whether somebody runs what was suggested: the same tools, and every value as it was; what was missing may be there. */
function isAsSuggested(tasks: unknown, suggested: readonly SuggestedTask[]): boolean {
  return Array.isArray(tasks) && tasks.length === suggested.length &&
    suggested.every(({ tool, arguments: values }, i) => {
      const task: unknown = tasks[i];
      const given = isObject(task) && isObject(task.arguments) ? task.arguments : {};
      return isObject(task) && task.tool === tool &&
        Object.entries(values).every(([name, value]) => canonicalJson(given[name] ?? null) === canonicalJson(value));
    });
}

function hasSameTools(tasks: unknown, suggested: readonly SuggestedTask[]): boolean {
  return Array.isArray(tasks) && tasks.length === suggested.length &&
    suggested.every(({ tool }, i) => isObject(tasks[i]) && tasks[i].tool === tool);
}

function outcomesOf(kept: unknown): Outcome[] {
  return Array.isArray(kept)
    ? kept.filter((one): one is Outcome =>
      isObject(one) && typeof one.confidence === "number" && typeof one.right === "boolean"
    )
    : [];
}

/** Why tasks cannot be run as they are; undefined when they can. */
async function problemOf(
  session: Session,
  tasks: readonly SuggestedTask[],
  before: readonly EarlierTask[],
): Promise<string | undefined> {
  try {
    const earlier = before.map(({ id, tool }) => ({
      id,
      type: "tool" as const,
      tool: tool.id,
      arguments: {},
      depends_on: [],
    }));
    await planTasks(tasks as unknown, { session, book: createToolBook(session) }, earlier);
    return undefined;
  } catch (error) {
    return messageOf(error instanceof AgentCardsError ? error : new Error(String(error)));
  }
}

function hintsOf(
  { habits, dependencies }: Experience,
  { words, reads }: { readonly words: readonly string[]; reads(id: string): boolean },
): Hints {
  return {
    reads,
    flows: (source, target) =>
      dependencies.all().filter((edge) => edge.source === source && edge.target === target && edge.path !== "")
        .map((edge) => {
          const [path = "", parameter = ""] = edge.path.split(" → ");
          return { path, parameter, trust: reliability(edge) };
        }).sort((a, b) => b.trust - a.trust),
    usual(tool, parameter) {
      const { total, next } = habits.seen(["value", tool, parameter]);
      const [value, count] = next[0] ?? ["", 0];
      return count >= ALWAYS.times && count / total >= ALWAYS.share ? JSON.parse(value) as Json : undefined;
    },
    trust(tools) {
      const name = planName(tools);
      const told = words.map((word) => habits.seen(["asked", word])).filter(({ total }) =>
        total > 0 && total <= SAYS_SOMETHING
      );
      if (told.length === 0) return 0;
      const share = told.reduce((sum, { total, next }) => {
        const count = next.find(([plan]) => plan === name)?.[1] ?? 0;
        return sum + (count === 0 ? 0 : lowerBound(count, total));
      }, 0) / told.length;
      return share * told.length / words.length;
    },
  };
}
