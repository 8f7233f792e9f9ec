import { callTool, findTools, type Guardrail, toolResultOf } from "../call/mod.ts";
import { ensureHome, locateHome } from "../config/mod.ts";
import type { Gateway } from "../control/mod.ts";
import { createEventStream, type RunEvent, type RunOptions } from "../dag/mod.ts";
import { lockHolder, takeLock } from "../db/mod.ts";
import {
  AgentCardsError,
  type Call,
  isFailure,
  type JsonObject,
  nobody,
  type Tool,
  toolId,
  type ToolResult,
} from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";
import {
  parseRun,
  resumeRequest,
  type RunBody,
  runBody,
  type StartRequest,
  type WorkSession,
} from "../workflow/mod.ts";
import { system } from "../platform/start.ts";
import { createGateway } from "./gateway.ts";
import { watchPossession } from "./possession.ts";

/** The options of a gateway. */
export interface GatewayOptions {
  /** The folder of configuration and data; `~/.agentcards` unless told. */
  readonly home?: string;
  /** The folder in which servers run and in which a project's configuration is searched. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The client it stands for: it sees the servers that are for this client (`servers.NAME.clients`) or for all. */
  readonly client?: string;
  /** Functions that judge each call, after the rules of the configuration. */
  readonly guardrails?: readonly Guardrail[];
}

/** A gateway inside the calling program. */
export interface EmbeddedGateway extends AsyncDisposable {
  /** The tools that fit a request, best first. */
  search(query: string, options?: SearchOptions): Promise<readonly { readonly tool: Tool; readonly score: number }[]>;
  /** Calls one tool, or a saved workflow as `workflow:NAME`. */
  call(tool: string, args?: Record<string, unknown>, options?: CallOptions): Promise<ToolResult>;
  /**
   * Runs a workflow: its events as they happen, then its answer as the value of the generator. Leaving the loop early
   * aborts the run.
   */
  runWorkflow(request: WorkflowRequest, options?: CallOptions): AsyncGenerator<WorkflowEvent, WorkflowAnswer, void>;
  /** Tells how a workflow stands, or decides what it waits for. */
  resumeWorkflow(request: Record<string, unknown>, options?: CallOptions): Promise<WorkflowAnswer>;
  /** The calls of this gateway so far. */
  stats(): GatewayStats;
  /** Stops its servers and lets the home go. */
  close(): Promise<void>;
}

/** The options of a search. */
export interface SearchOptions {
  /** The most tools; 10 unless told. */
  readonly limit?: number;
}

/** The options of a call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** Tasks to run, or a saved workflow by its name with its input. */
export type WorkflowRequest =
  | { readonly tasks: readonly unknown[]; readonly options?: RunOptions }
  | { readonly workflow: string; readonly input?: Record<string, unknown> };

/** Something that happened to a run: it was planned, a task started, was done, failed, was skipped, …; see its `kind`. */
export type WorkflowEvent = RunEvent & { readonly run: string };

/** The answer of a run: its status, the results at its ends, a line for each task, and what it waits for. */
export type WorkflowAnswer = RunBody;

/** The figures of a gateway. */
export interface GatewayStats {
  readonly calls: number;
  readonly failed: number;
  /** By `server:tool`. */
  readonly tools: Readonly<Record<string, { readonly calls: number; readonly failed: number; readonly ms: number }>>;
  readonly runs: number;
}

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
    (lost) => log("error", "home_lost", { reason: `${lost} was removed or replaced` }),
  );
  const gateway = await createGateway(home, { logToStderr: false, isStillOurs: possession.isStillOurs });
  let closing: Promise<void> | undefined;
  const close = () =>
    closing ??= (async () => {
      possession[Symbol.dispose]();
      await gateway[Symbol.asyncDispose]();
      await lock.release();
    })();
  const { guardrails = [], client } = options;
  const session = await gateway.openSession({ cwd: options.cwd ?? system.cwd(), env, guardrails, viewer: { client } })
    .catch(
      async (error) => {
        await close();
        throw error;
      },
    );
  const counts = countCalls(session);
  let runs = 0;
  return {
    search: async (query, { limit = 10 } = {}) => (await findTools(session, { query, limit })).tools,
    async call(tool, args = {}, { signal = never() } = {}) {
      // A signal of its own: nothing is left on a signal that lives longer than the call.
      const caller = nobody(AbortSignal.any([signal]));
      return toolResultOf(await callTool(session, { tool, arguments: args }, caller, "human"));
    },
    runWorkflow(request, { signal = never() } = {}) {
      runs++;
      return eventsOf(gateway, session, request, signal);
    },
    async resumeWorkflow(request, { signal = never() } = {}) {
      return (await resumeRequest(session, request, nobody(signal))).body as unknown as WorkflowAnswer;
    },
    stats: () => ({ ...counts(), runs }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

const never = () => new AbortController().signal;

/** Counts the calls that a session sends on their way. */
function countCalls(session: WorkSession): () => Omit<GatewayStats, "runs"> {
  const tools = new Map<string, { calls: number; failed: number; ms: number }>();
  const send = session.call;
  Object.assign(session, {
    async call(call: Call) {
      const id = toolId(call.address.server, call.address.name);
      const count = tools.getOrInsertComputed(id, () => ({ calls: 0, failed: 0, ms: 0 }));
      const began = performance.now();
      count.calls++;
      try {
        const result = await send(call);
        if (isFailure(result)) count.failed++;
        return result;
      } catch (error) {
        count.failed++;
        throw error;
      } finally {
        count.ms += performance.now() - began;
      }
    },
  });
  return () => {
    const all = [...tools.values()];
    return {
      calls: all.reduce((sum, { calls }) => sum + calls, 0),
      failed: all.reduce((sum, { failed }) => sum + failed, 0),
      tools: Object.fromEntries([...tools].map(([id, { ms, ...rest }]) => [id, { ...rest, ms: Math.round(ms) }])),
    };
  };
}

/** A run as its events. */
async function* eventsOf(
  { saved, workflows }: Gateway,
  session: WorkSession,
  request: WorkflowRequest,
  signal: AbortSignal,
): AsyncGenerator<WorkflowEvent, WorkflowAnswer, void> {
  const stream = createEventStream<WorkflowEvent>();
  const given = (request as { input?: JsonObject }).input ?? {};
  const start = "workflow" in request
    ? chained(request.workflow, await saved.prepare(session, request.workflow, given))
    : { ...parseRun(request), name: "" };
  let run = "";
  const view = workflows.start(start, {
    session,
    caller: nobody(AbortSignal.any([signal])),
    by: "agent",
    onStart: ({ id }) => run = id,
    onEvent: (event) => stream.push({ ...event, run }),
  });
  view.then(() => stream.end(), (error) => stream.end(error));
  let isOver = false;
  try {
    yield* stream.read();
    isOver = true;
    return await runBody(await view, session);
  } finally {
    if (!isOver && run !== "") {
      const decider = { session, caller: nobody(never()), by: "agent" } as const;
      await workflows.resume({ workflow_id: run, action: "abort" }, decider).catch(() => {});
    }
  }
}

/** A run that is part of its saved workflow. */
function chained(name: string, run: StartRequest): StartRequest {
  return { ...run, options: { ...run.options, chain: [name] } };
}

/** The error of a home that another process works in. */
export async function homeInUse(home: { dir: string; lock: string }): Promise<AgentCardsError> {
  const pid = await lockHolder(home.lock);
  return new AgentCardsError("ENGINE_BUSY", `An engine (process ${pid}) already uses ${home.dir}`, {
    hint: "Share it through `agentcards serve`, or set AGENTCARDS_HOME to another folder.",
  });
}
