import { AGENT_SERVER, toolId, worse } from "../../model/mod.ts";
import { z } from "../../../deps.ts";
import { openEffects } from "../code_call.ts";
import type { AgentTask } from "../task.ts";
import { COMMON_FIELDS, type TaskKind } from "./kind.ts";

/** The longest prompt, before references are filled in. */
const MAX_PROMPT = 256 * 1024;
const MAX_TOOLS = 200;

/** A task that lets an agent program work on a prompt. */
export const AGENT: TaskKind<AgentTask> = {
  word: "agent",
  form: z.strictObject({
    ...COMMON_FIELDS,
    type: z.literal("agent").default("agent"),
    // In a file the name may be a parameter.
    agent: z.string().regex(/^(?:\$INPUT\.)?[A-Za-z0-9][\w.-]{0,63}$/, "must be the name of an agent, or auto"),
    prompt: z.string().min(1).max(MAX_PROMPT),
    cwd: z.string().min(1).max(4_096).optional(),
    model: z.string().regex(/^[\w./:@[\]-]{1,200}$/, "must be the name of a model").optional(),
    schema: z.record(z.string(), z.unknown()).optional(),
    budget: z.strictObject({
      usd: z.number().positive().max(10_000).optional(),
      turns: z.number().int().min(1).max(10_000).optional(),
      minutes: z.number().positive().max(1_440).optional(),
    }).optional(),
    tools: z.array(z.string().min(1).max(256)).max(MAX_TOOLS).optional(),
    traits: z.array(z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, "must be a word such as multi_step")).max(20).optional(),
    own_tools: z.boolean().optional(),
  }),
  example: 'for example {"id": "review", "type": "agent", "agent": "claude", "prompt": "Review this: $OUTPUT[diff]"}',
  input: ({ prompt }) => ({ prompt }),
  linked: (task) => task,
  takesFailures: false,
  journalsCalls: false,
  effectOf({ agent }, ofTool) {
    return worse(ofTool(toolId(AGENT_SERVER, agent)), "effectful");
  },
  // Before its session is journalled the program has no prompt: a crash leaves nothing unknown.
  effectAtStart: () => "idempotent",
  isSafeToFail: () => false,
  tools: () => [],
  describe: ({ agent }) => toolId(AGENT_SERVER, agent),
  waiting: ({ agent }, input) => ({ tool: toolId(AGENT_SERVER, agent), arguments: input }),
  doubtful({ agent, prompt }, { sent, doubt, calls }) {
    const [open, ...more] = openEffects(calls).toSorted((a, b) => Number(b.call === doubt) - Number(a.call === doubt));
    if (!open) return [{ tool: toolId(AGENT_SERVER, agent), arguments: sent ?? { prompt } }];
    return [open, ...more].map(({ tool, arguments: given }) => ({ tool, ...given && { arguments: given } }));
  },
};
