import { worse } from "../../model/mod.ts";
import { z } from "../../../deps.ts";
import type { ToolTask } from "../task.ts";
import { COMMON_FIELDS, LONGEST_TIMEOUT, type TaskKind } from "./kind.ts";

/** A task that calls one tool. */
export const TOOL: TaskKind<ToolTask> = {
  word: "tool",
  form: z.strictObject({
    ...COMMON_FIELDS,
    type: z.literal("tool").default("tool"),
    tool: z.string().min(1).max(256),
    arguments: z.record(z.string(), z.unknown()).default({}),
    until: z.strictObject({
      when: z.string().min(1).max(2_000),
      every_ms: z.number().int().min(1).max(LONGEST_TIMEOUT),
      times: z.number().int().min(1).max(10_000),
    }).optional(),
  }),
  example: 'for example {"id": "a", "tool": "server:tool", "arguments": {"x": "$OUTPUT[b].y"}}',
  input: (task) => task.arguments,
  linked: (task) => task,
  takesFailures: false,
  journalsCalls: false,
  effectOf({ tool, side_effects }, ofTool) {
    const effect = ofTool(tool);
    return side_effects ? worse(effect, "effectful") : effect;
  },
  effectAtStart: (effect) => effect,
  isSafeToFail: () => false,
  tools: ({ tool }) => [tool],
  describe: ({ tool }) => tool,
  waiting: ({ tool }, input) => ({ tool, arguments: input }),
  doubtful: ({ tool, arguments: given }, { sent }) => [{ tool, arguments: sent ?? given }],
};
