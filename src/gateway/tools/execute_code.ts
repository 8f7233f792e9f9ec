import { z } from "../../../deps.ts";
import type { Json } from "../../model/json.ts";
import { textResult } from "../answer.ts";
import { runCode } from "../code.ts";
import { codeAnswer } from "../code_answer.ts";
import { parseInput } from "../input.ts";
import type { GatewayTool } from "./tool.ts";

const INPUT = z.strictObject({
  code: z.string().min(1).max(256 * 1024),
  context: z.record(z.string(), z.unknown()).optional(),
  options: z.strictObject({
    timeout_ms: z.number().int().min(1).max(600_000).optional(),
    memory_mb: z.number().int().min(64).max(4_096).optional(),
  }).optional(),
});

/** Runs the model's own TypeScript in the cage, with every tool inside. */
export const executeCode: GatewayTool = {
  definition: {
    name: "execute_code",
    description:
      'Run TypeScript in a sandbox to call tools in loops and reduce data before it reaches you: `const r = await github.list_issues({…}); return r.length`. All servers are variables, or tools["server:tool"](args). No files, no network.',
    inputSchema: {
      type: "object",
      properties: {
        code: { type: "string" },
        context: { type: "object", description: "Visible as `context`" },
        options: { type: "object", description: "timeout_ms, memory_mb" },
      },
      required: ["code"],
    },
  },
  label: () => "agentcards:execute_code",
  run: async (session, { input }, caller) => {
    const { code, context = {}, options = {} } = parseInput(INPUT, input);
    const outcome = await runCode(await session.sandbox(), session, { code, context: context as Json, deps: {} }, {
      caller,
      limits: {
        ...options.timeout_ms !== undefined && { wallMs: options.timeout_ms },
        ...options.memory_mb !== undefined && { memoryMb: options.memory_mb },
      },
    });
    const { json, isError } = await codeAnswer(outcome, session);
    return { kind: "result", result: textResult(json, isError) };
  },
};
