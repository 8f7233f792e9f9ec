import { z } from "../../../deps.ts";
import { escapeReferences } from "../../dag/references.ts";
import { AgentCardsError } from "../../model/errors.ts";
import { isObject, type JsonObject } from "../../model/json.ts";
import { execute } from "../execute.ts";
import { parseInput } from "../input.ts";
import { runRequest } from "../intent.ts";
import { resultOfRun } from "../workflow_media.ts";
import type { GatewayTool } from "./tool.ts";

const INPUT = z.strictObject({
  tool: z.string().min(1).max(200),
  arguments: z.record(z.string(), z.unknown()).optional(),
});

/** Calls one tool of one server and passes its result through. */
export const callTool: GatewayTool = {
  definition: {
    name: "call_tool",
    description: "Call one tool found by search_tools. Returns its result unchanged; long results come as a handle.",
    inputSchema: {
      type: "object",
      properties: {
        tool: { type: "string", description: "server:tool" },
        arguments: { type: "object", description: "The tool's own arguments" },
      },
      required: ["tool"],
    },
    _meta: { "anthropic/alwaysLoad": true },
  },
  label: (input) => typeof input.tool === "string" ? input.tool : "call_tool",
  run: async (session, { input, meta, retry }, caller) => {
    const { tool, arguments: given = {} } = isPlain(input) ? input : parseInput(INPUT, input);
    try {
      return await execute(session, { tool, arguments: given, ...meta && { meta }, ...retry && { retry } }, caller);
    } catch (error) {
      if (!isForHuman(error)) throw error;
      // As a workflow of its own the call waits for the human, and says how to go on.
      const tasks = [{ id: "call", tool, arguments: escapeReferences(given as JsonObject) }];
      return { kind: "result", result: resultOfRun(await runRequest(session, { tasks }, caller)) };
    }
  },
};

const isForHuman = (error: unknown) => error instanceof AgentCardsError && error.code === "HUMAN_NEEDED";

/** The usual input, seen at a glance; anything else goes through the schema, which can say what is wrong with it. */
function isPlain(input: Record<string, unknown>): input is { tool: string; arguments: Record<string, unknown> } {
  const { tool } = input;
  return Object.keys(input).length === 2 && typeof tool === "string" && tool !== "" && isObject(input.arguments);
}
