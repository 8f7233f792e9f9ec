import { CALL_TIMEOUT_MS, callTool as call, parseInput, resolveTool } from "../../call/mod.ts";
import { escapeReferences } from "../../dag/mod.ts";
import { AgentCardsError, type Caller, isObject, type JsonObject, toolId, type ToolResult } from "../../model/mod.ts";
import { resultOfRun, workflowAnswer, type WorkSession } from "../../workflow/mod.ts";
import { z } from "../../../deps.ts";
import type { GatewayTool } from "./tool.ts";

const INPUT = z.strictObject({
  tool: z.string().min(1).max(200),
  arguments: z.record(z.string(), z.unknown()).optional(),
});

/** Calls one tool of one server and passes its result through. */
export const callTool: GatewayTool = {
  definition: {
    name: "call_tool",
    description:
      "Call one tool found by search_tools. Returns its result unchanged; a long one as a handle for agentcards:read_result.",
    inputSchema: {
      type: "object",
      properties: {
        tool: { type: "string", description: "server:tool" },
        arguments: { type: "object" },
      },
      required: ["tool"],
    },
    _meta: { "anthropic/alwaysLoad": true },
  },
  run: async (session, { input, meta, retry }, caller) => {
    const { tool, arguments: given = {} } = isPlain(input) ? input : parseInput(INPUT, input);
    try {
      return await call(session, { tool, arguments: given, ...meta && { meta }, ...retry && { retry } }, caller);
    } catch (error) {
      if (!(error instanceof AgentCardsError) || error.code !== "HUMAN_NEEDED") throw error;
      return { kind: "result", result: await waitForHuman(session, { tool, given, error }, caller) };
    }
  },
};

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
  const question = error.data?.question;
  // What the server has begun was called off; it is not begun again before somebody is there.
  const asked = typeof question === "string" && {
    asked: {
      reason: "question",
      task: "call",
      why: `it asks: ${session.privacy?.hide(question, "agentcards") ?? question}`,
      tool: id,
      arguments: args,
    } as const,
  };
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

/** The usual input, seen at a glance; anything else goes through the schema, which can say what is wrong with it. */
function isPlain(input: Record<string, unknown>): input is { tool: string; arguments: Record<string, unknown> } {
  const { tool } = input;
  return Object.keys(input).length === 2 && typeof tool === "string" && tool !== "" && isObject(input.arguments);
}
