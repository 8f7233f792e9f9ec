import { callTool, findTools, toolResultOf } from "../call/mod.ts";
import { ensureHome, locateHome } from "../config/mod.ts";
import type { RunOptions } from "../dag/mod.ts";
import { lockHolder, takeLock } from "../db/mod.ts";
import { AgentCardsError, type JsonObject, nobody, type Tool, type ToolResult } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";
import { resumeRequest, runRequest } from "../workflow/mod.ts";
import { system } from "../platform/start.ts";
import { createGateway } from "./gateway.ts";
import { watchPossession } from "./possession.ts";

export interface GatewayOptions {
  /** The folder of configuration and data; `~/.agentcards` unless told. */
  readonly home?: string;
  /** Where servers run, and where a project's configuration is looked for. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A gateway inside the calling program. */
export interface EmbeddedGateway extends AsyncDisposable {
  searchTools(query: string, limit?: number): Promise<readonly { tool: Tool; score: number }[]>;
  callTool(tool: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<ToolResult>;
  /** Runs tasks as one workflow until it ends or pauses, or plans what is wanted; the answer is what an agent would get. */
  runWorkflow(request: RunInput, signal?: AbortSignal): Promise<WorkflowAnswer>;
  /** Tells how a workflow stands, or decides what it waits for. */
  resumeWorkflow(request: Record<string, unknown>, signal?: AbortSignal): Promise<WorkflowAnswer>;
}

/** Tasks to run, or what is wanted in words. */
export type RunInput = ({ tasks: unknown[] } | { intent: string }) & { options?: RunOptions };
export type WorkflowAnswer = JsonObject;

/** Opens a gateway in this process. The home must not be in use by an engine. */
export async function openGateway(options: GatewayOptions = {}): Promise<EmbeddedGateway> {
  const env = { ...options.env ?? system.env(), ...options.home && { AGENTCARDS_HOME: options.home } };
  const home = locateHome(env);
  await ensureHome(home);
  const lock = await takeLock(home.lock);
  if (!lock) throw await homeInUse(home);
  // The program around it goes on, whatever happens to the home.
  const possession = watchPossession(
    home,
    (lost) => log("error", "home lost", { reason: `${lost} was removed or replaced` }),
  );
  const gateway = await createGateway(home, { logToStderr: false, isStillOurs: possession.isStillOurs });
  const close = async () => {
    possession[Symbol.dispose]();
    await gateway[Symbol.asyncDispose]();
    await lock.release();
  };
  const session = await gateway.openSession({ cwd: options.cwd ?? system.cwd(), env }).catch(async (error) => {
    await close();
    throw error;
  });
  return {
    searchTools: async (query, limit = 10) => (await findTools(session, { query, limit })).tools,
    async callTool(tool, args = {}, signal = new AbortController().signal) {
      // A signal of its own: nothing is left on a signal that lives longer than the call.
      const caller = nobody(AbortSignal.any([signal]));
      return toolResultOf(await callTool(session, { tool, arguments: args }, caller, "human"));
    },
    async runWorkflow(request, signal = new AbortController().signal) {
      return (await runRequest(session, request, nobody(signal))).body;
    },
    async resumeWorkflow(request, signal = new AbortController().signal) {
      return (await resumeRequest(session, request, nobody(signal))).body;
    },
    [Symbol.asyncDispose]: close,
  };
}

/** The error of a home that another process works in. */
export async function homeInUse(home: { dir: string; lock: string }): Promise<AgentCardsError> {
  const pid = await lockHolder(home.lock);
  return new AgentCardsError("ENGINE_BUSY", `An engine (process ${pid}) already uses ${home.dir}`, {
    hint: "Share it through `agentcards serve`, or set AGENTCARDS_HOME to another folder.",
  });
}
