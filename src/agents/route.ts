import { agentProblems, type Session } from "../call/mod.ts";
import { type AgentConfig, requireAgent, type Route } from "../config/mod.ts";
import { type AgentTask, taskCondition } from "../dag/mod.ts";
import { AgentCardsError, messageOf, oneLine } from "../model/mod.ts";
import { problemOf } from "./list.ts";
import type { PastSuccess } from "./past.ts";
import type { TaskFacts } from "./traits.ts";

/** The word for an agent that routes choose. */
export const AUTO = "auto";

/** The routes that ship, behind those of the configuration. */
const DEFAULT_ROUTES: readonly Route[] = [
  // A reviewer of another maker than the usual author.
  { when: '"review" in task.traits', use: "codex" },
  { when: '"system" in task.traits || "multi_step" in task.traits', use: "claude" },
  { when: '"short" in task.traits', use: "gemini" },
];

/** An agent that can take a task, with the reason in words. */
export interface Choice {
  readonly agent: string;
  readonly why: string;
}

interface Routing {
  readonly task: AgentTask;
  readonly facts: TaskFacts;
  readonly past: PastSuccess;
}

/**
 * The agents for a task with `agent: auto`, the first choice first: by the routes, then by past success with such tasks.
 * Those that are not there or may not be used are left out, and the reason says so. An error where none is left.
 */
export async function routesFor(session: Session, { task, facts, past }: Routing): Promise<Choice[]> {
  const wanted = [...await byRoutes(session.config.routes, facts), ...await byPast(session, facts, past)];
  const choices: Choice[] = [];
  const missing: string[] = [];
  const seen = new Set<string>();
  for (const { agent, why } of wanted) {
    if (seen.has(agent)) continue;
    seen.add(agent);
    const problem = await whyNot(session, { ...task, agent });
    if (problem !== undefined) missing.push(`${agent}: ${oneLine(problem, 200)}`);
    else choices.push({ agent, why: missing.length > 0 ? `${why}; not ${missing.join("; not ")}` : why });
  }
  if (choices.length > 0) return choices;
  throw new AgentCardsError("TOOL_FAILED", `No agent can take the task: ${missing.join("; ")}`, {
    hint: "agentcards agents shows which are there.",
  });
}

async function byRoutes(configured: readonly Route[], facts: TaskFacts): Promise<Choice[]> {
  const found: Choice[] = [];
  for (const [place, { when, use }] of [...configured, ...DEFAULT_ROUTES].entries()) {
    const isConfigured = place < configured.length;
    let holds: boolean;
    try {
      holds = (await taskCondition(when))(facts);
    } catch (error) {
      const where = isConfigured ? `agents.routes[${place}]` : "a default route";
      throw new AgentCardsError("CONFIG_INVALID", `Cannot use ${where}: ${messageOf(error)}`);
    }
    if (holds) found.push({ agent: use, why: `the ${isConfigured ? "route" : "default route"} ${when}` });
  }
  return found;
}

async function byPast({ config }: Session, { traits }: TaskFacts, past: PastSuccess): Promise<Choice[]> {
  const all = Object.values(config.agents).filter(({ disabled }) => !disabled);
  const ends = await Promise.all(all.map(async ({ name }) => ({ name, ...await past.of(name, traits) })));
  const kind = traits.length > 0 ? traits.join(", ") : "no kind";
  return ends.toSorted((a, b) => b.share - a.share).map(({ name, ok, failed }) => ({
    agent: name,
    why: `${Math.round(ok)} of ${Math.round(ok + failed)} tasks of ${kind} succeeded`,
  }));
}

/** The reason why an agent cannot take a task now. */
async function whyNot(session: Session, task: AgentTask): Promise<string | undefined> {
  const [problem] = agentProblems(session, task);
  if (problem !== undefined) return problem;
  const agent: AgentConfig = requireAgent(session.config.agents, task.agent);
  return await problemOf(session, agent);
}
