import type { Session } from "../../call/mod.ts";
import {
  type CallOptions,
  kindOf,
  type RunPorts,
  type RunState,
  type Task,
  type TaskResult,
  type ToolTask,
} from "../../dag/mod.ts";
import { splitToolId } from "../../model/mod.ts";
import type { Snapshots } from "../../snapshot/mod.ts";
import { checked, isCheck, rollBack } from "./check.ts";
import { log } from "../../telemetry/mod.ts";
import { isAbsolute, join } from "node:path";

export interface SnapshotOptions {
  readonly run: string;
  readonly state: RunState;
  readonly session: Session;
  readonly snapshots: Snapshots;
  /** Told of a run whose files were put back, or were to be, because its check failed. */
  onRolledBack(run: string): void;
}

/**
 * Records the files of the run's repository before and after every task that acts, so that it can be undone. By default
 * in a run with an agent, and where a server that acts runs in the folder of the run. A task whose files cannot be
 * recorded is not begun.
 */
export function withSnapshots(
  ports: RunPorts,
  { run, state, session, snapshots, onRolledBack }: SnapshotOptions,
): RunPorts {
  const { snapshot, rollback } = state.options;
  const isAll = snapshot === true || rollback !== undefined;
  const recorder = snapshots.ofRun(run, session.cwd);
  const acts = (task: Task) => ports.effectOf(task) !== "read";
  const isAbout = (task: Task) => kindOf(task).tools(task).some((tool) => worksHere(session, splitToolId(tool).server));
  const isOnFor = (one: Task) => one.type === "agent" || acts(one) && isAbout(one);
  const isOn = (task: ToolTask) =>
    snapshot !== false && acts(task) && (isAll || isAbout(task) || state.plan.some(isOnFor));
  const notes = new Map<string, string>();

  /** The result with the reason why the task cannot be undone, where there is one. */
  async function ended(id: string, result: TaskResult): Promise<TaskResult> {
    const problem = await recorder.after(id);
    const note = problem ?? notes.get(id);
    notes.delete(id);
    if (note === undefined) return result;
    log("warning", "files_not_recorded", { run, task: id, reason: note });
    return result.ok ? { ...result, note: result.note === undefined ? note : `${result.note} ${note}` } : result;
  }

  /** The same options, with the files recorded before the task acts. */
  const recording = <T extends Pick<CallOptions, "beforeSend">>(id: string, options: T): T => ({
    ...options,
    async beforeSend(approval: string | undefined) {
      const note = await recorder.before(id);
      if (note !== undefined) notes.set(id, note);
      await options.beforeSend(approval);
    },
  });

  /** The result of a check, with the files put back where it failed. */
  async function judged(task: Task, result: TaskResult): Promise<TaskResult> {
    if (!isCheck(task, state.options)) return result;
    const judged = checked(result);
    if (judged.ok || judged.kind !== "failed" || rollback === undefined) return judged;
    const words = await rollBack(snapshots, run);
    log("warning", "run_rolled_back", { run, reason: words });
    onRolledBack(run);
    return { ...judged, error: `${judged.error.replace(/(?<![.!?])$/, ".")} ${words}` };
  }

  return {
    ...ports,
    async callTool(task, args, options) {
      // The calls of code belong to its task, which goes on.
      const isWhole = options.isFromCode !== true;
      const given = isOn(task) ? recording(task.id, options) : options;
      const result = await ports.callTool(task, args, given);
      return isWhole ? await judged(task, await ended(task.id, result)) : result;
    },
    runAgent: async (task, input, options) =>
      await ended(task.id, await ports.runAgent(task, input, recording(task.id, options))),
    runCode: async (task, given, options) =>
      await judged(task, await ended(task.id, await ports.runCode(task, given, options))),
  };
}

/** True for a server that runs in the session's folder, or that is given a path around or in it. */
function worksHere({ cwd, config, startFolder }: Session, server: string | undefined): boolean {
  if (server === undefined || !Object.hasOwn(config.servers, server)) return false;
  const folder = startFolder(server);
  const isHere = (path: string) => isAbsolute(path) && isRelated(join(path, "/"), join(cwd, "/"));
  return folder !== undefined && isHere(folder) || (config.servers[server]!.args ?? []).some(isHere);
}

function isRelated(one: string, other: string): boolean {
  return one !== "/" && (one.startsWith(other) || other.startsWith(one));
}
