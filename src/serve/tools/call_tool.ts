import { CACHED, CALL_TIMEOUT_MS, callTool as call, parseInput, resolveTool } from "../../call/mod.ts";
import { escapeReferences } from "../../dag/mod.ts";
import {
  AgentCardsError,
  type Caller,
  type CallResult,
  type ErrorCode,
  inOneLine,
  isObject,
  type JsonObject,
  OWN_SERVER,
  toolId,
  type ToolResult,
  WORKFLOW_SERVER,
} from "../../model/mod.ts";
import { attachable } from "../../suggest/mod.ts";
import { resultOfRun, workflowAnswer, type WorkSession } from "../../workflow/mod.ts";
import { z } from "../../../deps.ts";
import { DEFINITIONS } from "./definitions.ts";
import type { GatewayTool } from "./tool.ts";

const INPUT = z.strictObject({
  tool: z.string().min(1).max(200),
  arguments: z.record(z.string(), z.unknown()).optional(),
});

/** Calls one tool of one server and passes its result through. */
export const callTool: GatewayTool = {
  definition: DEFINITIONS.call_tool,
  run: async (session, { input, meta, retry }, caller) => {
    const { tool, arguments: given = {} } = isPlain(input) ? input : parseInput(INPUT, input);
    const end = session.ahead.begin(session);
    let outcome: CallResult;
    try {
      outcome = await call(session, { tool, arguments: given, ...meta && { meta }, ...retry && { retry } }, caller);
    } catch (error) {
      if (!(error instanceof AgentCardsError) || !WAITING.has(error.code)) throw error;
      // The approval stays open by itself: the same call passes once it was given.
      if (error.data?.approval !== undefined) throw error;
      return { kind: "result", result: await waitForHuman(session, { tool, given, error }, caller) };
    } finally {
      end();
    }
    return await withReadsAhead(session, { tool, given, outcome }, caller);
  },
};

interface Answered {
  readonly tool: string;
  readonly given: Record<string, unknown>;
  readonly outcome: CallResult;
}

/** An answer with the reads that probably come next attached to it. */
async function withReadsAhead(
  session: WorkSession,
  { tool, given, outcome }: Answered,
  caller: Caller,
): Promise<CallResult> {
  if (outcome.kind !== "result" || caller.signal.aborted) return outcome;
  const { server, name } = session.tool(tool) ?? await resolveTool(session, tool);
  if (server === OWN_SERVER || server === WORKFLOW_SERVER) return outcome;
  const result = withAge(session, outcome.result);
  const made = { tool: toolId(server, name), arguments: given as JsonObject, result };
  return { kind: "result", result: await session.ahead.attach(session, made, caller) };
}

/** An answer from the cache that the user configured says so in its text, where its client shows that. */
function withAge(session: WorkSession, result: ToolResult): ToolResult {
  const ms = isObject(result._meta) ? result._meta[CACHED] : undefined;
  const open = typeof ms === "number" ? attachable(session, result) : undefined;
  if (!open) return result;
  const text = `AgentCards: this answer was kept, as "cache" in config.yaml says, and is ${
    describeAge(ms as number)
  } old.`;
  return { ...open, content: [...Array.isArray(open.content) ? open.content : [], { type: "text", text }] };
}

function describeAge(ms: number): string {
  return ms < 120_000 ? `${Math.ceil(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`;
}

/** The codes of calls that wait for a human. */
const WAITING: ReadonlySet<ErrorCode> = new Set(["HUMAN_NEEDED", "SIGN_IN_NEEDED"]);

interface Waiting {
  readonly tool: string;
  readonly given: Record<string, unknown>;
  readonly error: AgentCardsError;
}

/** Goes on with a call as a workflow of its own, which waits for the human and says how to go on. */
async function waitForHuman(
  session: WorkSession,
  { tool, given, error }: Waiting,
  caller: Caller,
): Promise<ToolResult> {
  const { server, name } = await resolveTool(session, tool);
  const id = toolId(server, name);
  const args = given as JsonObject;
  // As long as it would have had; a task's own time is shorter.
  const time = session.config.servers[server]?.timeout === undefined && { timeout_ms: CALL_TIMEOUT_MS };
  const tasks = [{ id: "call", tool: id, arguments: escapeReferences(args), ...time }];
  const pause = pauseOf(session, error);
  // What the server has begun was called off; it is not begun again before somebody is there.
  const asked = pause && { asked: { ...pause, task: "call", tool: id, arguments: args } };
  try {
    const request = { tasks, options: {}, name: id, ...asked };
    const view = await session.workflows.start(request, { session, caller, by: "agent" });
    return resultOfRun(await workflowAnswer(view, session));
  } catch (problem) {
    // What is no task of a workflow, a saved one for example, waits for nobody.
    if (problem instanceof AgentCardsError && problem.code === "PLAN_INVALID") throw error;
    throw problem;
  }
}

/** The pause with which a call begins to wait; an approval is asked for by the run itself. */
function pauseOf(session: WorkSession, error: AgentCardsError) {
  if (error.code === "SIGN_IN_NEEDED") return { reason: "sign_in", why: inOneLine(error) } as const;
  const question = error.data?.question;
  if (typeof question !== "string") return undefined;
  return { reason: "question", why: `it asks: ${session.privacy?.hide(question, "agentcards") ?? question}` } as const;
}

/** The usual input, seen at a glance; anything else goes through the schema, which can say what is wrong with it. */
function isPlain(input: Record<string, unknown>): input is { tool: string; arguments: Record<string, unknown> } {
  const { tool } = input;
  return Object.keys(input).length === 2 && typeof tool === "string" && tool !== "" && isObject(input.arguments);
}
