import type { AgentConfig, PlacedServer } from "../config/mod.ts";
import type { Reaper } from "../mcp/mod.ts";
import type { JsonObject } from "../model/mod.ts";
import type { Meter } from "./budget.ts";

/** A program that a client starts as an MCP server. */
export interface GatewayEntry {
  readonly command: string;
  readonly args: readonly string[];
}

/** The work of an agent program: one prompt, in one session. */
export interface AgentJob {
  readonly agent: AgentConfig;
  /** The program with its variables filled in. */
  readonly program: PlacedServer;
  /** The environment that it inherits its harmless variables from. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder that it works in. */
  readonly folder: string;
  readonly prompt: string;
  readonly model?: string | undefined;
  /** The session that it goes on with. */
  readonly session?: string | undefined;
  readonly hasOwnTools: boolean;
  /** Its only MCP server. */
  readonly gateway: GatewayEntry;
}

/** The side of the run that an agent program works for. */
export interface AgentHost {
  /** Aborted when the program is to end. */
  readonly signal: AbortSignal;
  readonly reaper: Reaper;
  readonly meter: Meter;
  /** To be awaited before the program gets its prompt, and once more where its session is known only later. */
  onSession(id: string, resumes: boolean): Promise<void>;
  /** Hears in words how the work goes on. */
  onNews(text: string): void;
  /** Asks whether the program may use a tool of its own. */
  permit(tool: string, input: JsonObject): Promise<boolean>;
}

/** Speaks to one kind of agent program: gives it the prompt, resolves with its final text. Throws where there is none. */
export type Protocol = (job: AgentJob, host: AgentHost) => Promise<string>;
