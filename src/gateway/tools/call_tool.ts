import { z } from "../../../deps.ts";
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
    const { tool, arguments: given = {} } = parseInput(INPUT, input);
    return execute(session, { tool, arguments: given, ...meta && { meta }, ...retry && { retry } }, caller);
  },
};
