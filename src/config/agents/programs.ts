import type { Config, ServerConfig } from "../schema.ts";
import type { AgentConfig } from "./agents.ts";

/** A program that is started as those of agents are. */
export type Program = Pick<AgentConfig, "name" | "command" | "args" | "env">;

/** The program of an agent in the form in which programs are filled in and placed. */
export function agentProgram({ name, command, args, env }: Program): ServerConfig {
  return { name: `agent-${name}`, command, args: [...args], ...env && { env }, cwd: "neutral", origin: "global" };
}

/** Everything that a configuration starts: its servers, and the agents that it names. */
export function programsOf({ servers, agents }: Pick<Config, "servers" | "agents">): ServerConfig[] {
  const named = Object.values(agents).filter(({ isConfigured, disabled }) => isConfigured && !disabled);
  return [...Object.values(servers).filter(({ disabled }) => !disabled), ...named.map(agentProgram)];
}
