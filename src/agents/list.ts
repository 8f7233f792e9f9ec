import type { Session } from "../call/mod.ts";
import type { AgentConfig, AgentProtocol } from "../config/mod.ts";
import { missingProgram } from "../mcp/mod.ts";
import { messageOf } from "../model/mod.ts";
import { isHeld } from "./run_agent.ts";

/** One agent as lists show it. */
export interface AgentReport {
  readonly name: string;
  readonly protocol: AgentProtocol;
  readonly command: string;
  /** True where the configuration names it. */
  readonly configured: boolean;
  /** The reason why it cannot be started; null where its program is there. */
  readonly problem: string | null;
  /** True where everything that it does without its own tools goes through the gateway. */
  readonly governed: boolean;
  readonly own_tools: boolean;
  readonly model: string | null;
}

/** The agents that are configured, and the known ones whose programs are on this machine. */
export async function listAgents(session: Session): Promise<AgentReport[]> {
  const all = Object.values(session.config.agents).filter(({ disabled }) => !disabled);
  const reports = await Promise.all(all.map(async (agent): Promise<AgentReport> => ({
    name: agent.name,
    protocol: agent.protocol,
    command: [agent.command, ...agent.args].join(" "),
    configured: agent.isConfigured,
    problem: await problemOf(session, agent) ?? null,
    governed: isHeld(agent, false),
    own_tools: agent.own_tools === true,
    model: agent.model ?? null,
  })));
  return reports.filter(({ configured, problem }) => configured || problem === null);
}

/** The reason why an agent cannot be started, by a look at the disk. */
export async function problemOf(session: Session, agent: AgentConfig): Promise<string | undefined> {
  try {
    const { program, env } = session.agentProgram(agent);
    return await missingProgram(program, { cwd: session.cwd, env });
  } catch (error) {
    return messageOf(error);
  }
}
