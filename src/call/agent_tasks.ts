import { type AgentConfig, requireAgent } from "../config/mod.ts";
import type { AgentTask } from "../dag/mod.ts";
import { AGENT_SERVER, inOneLine, toolId } from "../model/mod.ts";
import { denied, judge } from "../policy/mod.ts";
import type { Session } from "./session.ts";

/** The reasons why an agent task can never run; a workflow fails before its first task, not at its tenth. */
export function agentProblems(session: Pick<Session, "config" | "rules">, task: AgentTask): string[] {
  const { config, rules } = session;
  if (task.agent === "auto") {
    const names = Object.values(config.agents).filter(({ disabled }) => !disabled).map(({ name }) => name);
    const problems = names.map((name) => agentProblems(session, { ...task, agent: name })[0]);
    return problems.every((problem) => problem !== undefined) ? [`no agent can take it: ${problems.join("; ")}`] : [];
  }
  let agent: AgentConfig;
  try {
    agent = requireAgent(config.agents, task.agent);
  } catch (error) {
    return [inOneLine(error)];
  }
  const tool = toolId(AGENT_SERVER, task.agent);
  const verdict = judge(config.policy, tool);
  if (verdict.kind === "deny") return [denied(tool, verdict).message];
  const open = new Set(["prompt"]);
  const never = rules.impossible({ tool, definition: undefined, effect: "effectful", args: {}, open });
  if (never !== undefined) return [`${tool} may not be called: ${never}`];
  const problems = [budgetProblem(task, agent), ownToolsProblem(task, agent)];
  return problems.filter((problem) => problem !== undefined);
}

/** The reason why a budget cannot be kept with an agent; undefined where it can. */
function budgetProblem(task: AgentTask, { name, protocol, price, budget }: AgentConfig): string | undefined {
  const { usd, turns } = { ...budget, ...task.budget };
  if (protocol === "command" && (usd ?? turns) !== undefined) {
    return `a plain command reports neither turns nor costs: of agent ${name} only budget.minutes can be kept`;
  }
  if (usd !== undefined && !price && protocol === "codex") {
    return `budget.usd needs agents.${name}.price: the program reports tokens and no costs`;
  }
}

function ownToolsProblem({ own_tools }: AgentTask, agent: AgentConfig): string | undefined {
  if (!own_tools || agent.own_tools) return undefined;
  return `own_tools needs agents.${agent.name}.own_tools: true, which only the user can set, in config.yaml`;
}
