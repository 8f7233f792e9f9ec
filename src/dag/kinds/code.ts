import { z } from "../../../deps.ts";
import { effectsOf, openEffects } from "../code_call.ts";
import type { CodeTask } from "../task.ts";
import { COMMON_FIELDS, LONGEST_TIMEOUT, type TaskKind } from "./kind.ts";

/** `deps.a`, `deps?.a` and `deps["a"]` in code. */
const MENTIONED = /\bdeps(?:\.([A-Za-z_]\w*)|\?\.([A-Za-z_]\w*)|\[["']([\w-]{1,64})["']\])/g;

/** A task that runs code over the outputs of other tasks. */
export const CODE: TaskKind<CodeTask> = {
  word: "code",
  form: z.strictObject({
    ...COMMON_FIELDS,
    type: z.literal("code_execution").default("code_execution"),
    code: z.string().min(1).max(256 * 1024),
    context: z.record(z.string(), z.unknown()).optional(),
    intent: z.string().max(2_000).optional(),
    sandbox_config: z.strictObject({
      timeout: z.number().int().min(1).max(LONGEST_TIMEOUT).optional(),
      memoryLimit: z.number().int().min(1).optional(),
    }).optional(),
  }),
  example:
    'for example {"id": "sum", "type": "code_execution", "code": "return deps.a.output.length", "depends_on": ["a"]}',
  input: ({ context }) => context ?? {},
  /** Code waits for the tasks that it mentions as `deps.ID`, as a reference makes a tool task wait. */
  linked(task, ids, problems) {
    const misplaced = [...task.code.matchAll(/(?<!\$)\$OUTPUT\[([\w-]{1,64})\]/g)].map(([, id]) => id!)
      .find((id) => ids.has(id));
    if (misplaced !== undefined) {
      problems.push(`task ${task.id}: $OUTPUT is for arguments; code reads deps.${misplaced}.output`);
    }
    const mentioned = [...task.code.matchAll(MENTIONED)]
      .map(([, dotted, optional, quoted]) => dotted ?? optional ?? quoted!)
      .filter((id) => ids.has(id) && id !== task.id);
    const depends_on = [...new Set([...task.depends_on, ...mentioned])];
    return depends_on.length === task.depends_on.length ? task : { ...task, depends_on };
  },
  takesFailures: true,
  journalsCalls: true,
  effectOf: ({ side_effects }) => side_effects ? "effectful" : "read",
  effectAtStart: () => "read",
  isSafeToFail: ({ side_effects }) => !side_effects,
  tools: () => [],
  describe: () => "code",
  waiting: ({ code }) => ({ code }),
  doubtful({ code }, { doubt, calls }) {
    // In doubt as a whole: somebody has to look at all that it has done.
    const shown = doubt === undefined ? effectsOf(calls) : openEffects(calls);
    if (shown.length === 0) return [{ code }];
    return shown.toSorted((a, b) => Number(b.call === doubt) - Number(a.call === doubt))
      .map(({ tool, arguments: args }) => ({ code, tool, ...args && { arguments: args } }));
  },
};
