import { z } from "../../../deps.ts";
import { isObject } from "../../model/json.ts";
import { execute } from "../execute.ts";
import { parseInput } from "../input.ts";
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
  run: (session, { input, meta, retry }, caller) => {
    const { tool, arguments: given = {} } = isPlain(input) ? input : parseInput(INPUT, input);
    return execute(session, { tool, arguments: given, ...meta && { meta }, ...retry && { retry } }, caller);
  },
};

/** The usual input, seen at a glance; anything else goes through the schema, which can say what is wrong with it. */
function isPlain(input: Record<string, unknown>): input is { tool: string; arguments: Record<string, unknown> } {
  const { tool } = input;
  return Object.keys(input).length === 2 && typeof tool === "string" && tool !== "" && isObject(input.arguments);
}
