import type { RunOptions, RunState, Task, TaskResult } from "../../dag/mod.ts";
import { AgentCardsError, inOneLine, isObject } from "../../model/mod.ts";
import type { Snapshots, UndoReport } from "../../snapshot/mod.ts";

/** The id of the task that checks what the others did. */
const CHECK = "check";
/** A check ends by its own time. */
const LONGEST_MS = 3_600_000 + 10_000;

/** The tasks of a run with one more after all of them, which says whether what they did is right. */
export function withCheck(tasks: unknown, { check, rollback, snapshot }: RunOptions): unknown {
  if (check === undefined) {
    if (rollback === undefined) return tasks;
    throw new AgentCardsError("INPUT_INVALID", "options.rollback goes with options.check: a check that can fail");
  }
  if (rollback !== undefined && snapshot === false) {
    throw new AgentCardsError(
      "INPUT_INVALID",
      "options.rollback needs the files that options.snapshot: false leaves out",
    );
  }
  if (!Array.isArray(tasks)) return tasks;
  const ids = tasks.flatMap((task) => isObject(task) && typeof task.id === "string" ? [task.id] : []);
  if (ids.includes(CHECK)) {
    throw new AgentCardsError("INPUT_INVALID", 'The id "check" is that of the check of options.check', {
      hint: "Give the task another id.",
    });
  }
  const common = { id: CHECK, depends_on: ids };
  if (typeof check === "string") {
    const given = { tool: "agentcards:run_check", arguments: { name: check } };
    return [...tasks, { ...common, ...given, timeout_ms: LONGEST_MS }];
  }
  if ("code" in check) {
    return [...tasks, { ...common, type: "code_execution", code: check.code, side_effects: true }];
  }
  return [...tasks, { ...common, tool: check.tool, arguments: check.arguments ?? {} }];
}

/** True for the check of a run. */
export function isCheck({ id }: Task, { check }: RunState["options"]): boolean {
  return id === CHECK && check !== undefined;
}

/** The result of a check: one that answers with false has failed. */
export function checked(result: TaskResult): TaskResult {
  const isFalse = result.ok && result.output.kind === "value" && result.output.value === false;
  return isFalse ? { ok: false, kind: "failed", error: "The check answered with false" } : result;
}

/** Takes back what the run changed, because its check failed; the words for the run's answer. */
export async function rollBack(snapshots: Snapshots, run: string): Promise<string> {
  const report = await snapshots.undo(run, {}).catch((error: unknown) => error);
  return isReport(report) ? wordsOf(report) : `The files could not be put back: ${inOneLine(report)}`;
}

function isReport(value: unknown): value is UndoReport {
  return isObject(value) && Array.isArray(value.conflicts);
}

function wordsOf({ state, files, conflicts }: UndoReport): string {
  if (state === "refused") {
    const names = conflicts.slice(0, 3).map(({ path, why }) => `${path} (${why})`).join(", ");
    return `No file was put back: ${names}${
      conflicts.length > 3 ? ` and ${conflicts.length - 3} more` : ""
    } in the way.`;
  }
  return files.length === 0
    ? "No file had to be put back."
    : `${files.length} ${files.length === 1 ? "file was" : "files were"} put back as before the run.`;
}
