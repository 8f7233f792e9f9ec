import type { RunPorts, TaskResult } from "../dag/run_port.ts";
import { AgentCardsError } from "../model/errors.ts";
import type { Json } from "../model/json.ts";
import { splitToolId } from "../model/tool.ts";
import { effectOf } from "../policy/effects.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { runCode } from "./code.ts";
import type { Session } from "./session.ts";

/** Runs the code tasks of a workflow in the cage. */
export function codePort(session: Session, sandbox: () => Promise<Sandbox>): RunPorts["runCode"] {
  return async (task, { deps, context }, { signal, timeoutMs }): Promise<TaskResult> => {
    const { timeout = timeoutMs, memoryLimit } = task.sandbox_config ?? {};
    const outcome = await runCode(await sandbox(), session, {
      code: task.code,
      context: context as Json,
      deps: deps as unknown as Json,
    }, {
      caller: { signal },
      limits: {
        ...timeout !== undefined && { wallMs: timeout },
        ...memoryLimit !== undefined && { memoryMb: memoryLimit },
      },
      // Code without side effects runs again after a crash: what it calls must bear that.
      ...!task.side_effects && { check: (tool: string) => requireHarmless(session, tool) },
    });
    const { result } = outcome;
    if (result.ok) return { ok: true, output: { kind: "value", value: result.value as Json }, bytes: result.bytes };
    const { type, message, line } = result.error;
    return { ok: false, kind: "failed", error: `${type}${line === undefined ? "" : ` in line ${line}`}: ${message}` };
  };
}

async function requireHarmless(session: Session, id: string): Promise<void> {
  const { server, name } = splitToolId(id);
  const tool = (await session.known(server!))?.tools.find((one) => one.name === name);
  if (tool && effectOf(session.config.policy, tool) !== "effectful") return;
  throw new AgentCardsError("TOOL_DENIED", `${id} acts on the world, and this code may be run again after a crash`, {
    hint: "Give the task side_effects: true, or call the tool in a task of its own.",
  });
}
