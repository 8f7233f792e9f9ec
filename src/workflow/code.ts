import type { Session } from "../call/mod.ts";
import {
  chosenTools,
  type CodeRoom,
  explained,
  MAX_STATE,
  NOTHING_RETURNED,
  readStored,
  returned,
  runCode,
  typeProblems,
  unfenced,
} from "../code/mod.ts";
import type { CodeTask, RunPorts, TaskResult } from "../dag/mod.ts";
import { cut, type Json, signature } from "../model/mod.ts";
import { denied, forbiddenOwnTool } from "../policy/mod.ts";

const SHOWN_TOOLS = 3;
const SHOWN_SIGNATURE = 200;
const CUT_OFF = new Set(["TimeoutError", "MemoryError", "LimitError"]);

export type CodeServices = Pick<CodeRoom, "sandbox" | "types">;

/** Runs the code tasks of a workflow in the cage. */
export function codePort(session: Session, { sandbox, types }: CodeServices): RunPorts["runCode"] {
  return async (task, { deps, context }, { signal, timeoutMs, call }): Promise<TaskResult> => {
    // A run may be older than the rule.
    const forbidden = forbiddenOwnTool(session.config.policy, "execute_code");
    if (forbidden) return { ok: false, kind: "failed", error: denied("agentcards:execute_code", forbidden).message };
    const { timeout = timeoutMs, memoryLimit } = task.sandbox_config ?? {};
    const code = unfenced(task.code);
    const request = { code, context, deps: deps as unknown as Json };
    const { result } = await runCode(await sandbox(), session, request, {
      signal,
      limits: {
        ...timeout !== undefined && { wallMs: timeout },
        ...memoryLimit !== undefined && { memoryMb: memoryLimit },
      },
      async call(asked, args, how) {
        const output = await call(asked, args, how);
        return output.kind === "value" ? output.value : await readStored(session, output.handle, output.steps);
      },
    });
    if (result.ok) {
      const { result: value, state } = returned(result.value as Json);
      if (JSON.stringify(state ?? null).length > MAX_STATE) {
        return { ok: false, kind: "failed", error: `LimitError: the state is longer than ${MAX_STATE} characters` };
      }
      const note = result.isNothing && { note: NOTHING_RETURNED };
      return { ok: true, output: { kind: "value", value }, bytes: result.bytes, ...state && { state }, ...note };
    }
    const { type, message, line, hint } = explained(result.error, session);
    const where = line === undefined ? "" : ` in line ${line}`;
    const [problem] = await typeProblems(result.error, { session, code, checker: types, signal });
    const byTypes = problem ? ` (by its types, line ${problem.line}: ${problem.message})` : "";
    const error = `${type}${where}: ${message}${hint ? ` ${hint}` : ""}${byTypes}${await toolsFor(task, session)}`;
    return { ok: false, kind: "failed", error, isCutOff: CUT_OFF.has(type) };
  };
}

/** The tools that the intent of failed code means, with the names by which code calls them. */
async function toolsFor({ intent }: CodeTask, session: Session): Promise<string> {
  if (intent === undefined) return "";
  const tools = await chosenTools(session, { intent }).catch(() => []);
  const shown = tools.slice(0, SHOWN_TOOLS).map((tool) => cut(signature(tool), SHOWN_SIGNATURE));
  return shown.length > 0 ? ` (tools for it: ${shown.join("; ")})` : "";
}
