import type { JsonObject } from "../model/json.ts";
import { APPROVAL_MS, NOT_ALLOWED } from "./approval.ts";
import type { Happening } from "./event.ts";
import type { Node } from "./_nodes.ts";
import type { Held } from "./pending.ts";
import type { RunPorts, TaskResult } from "./run_port.ts";
import type { RunState } from "./state.ts";

export interface GateOptions {
  readonly state: RunState;
  readonly ports: Pick<RunPorts, "approvalFor" | "askHuman">;
  readonly held: Map<string, Held>;
  now(): number;
  emit(happening: Happening): Promise<void>;
  /** Lets others run while somebody thinks; the returned function takes the place back. */
  makeRoom(node: Node): () => void;
}

/** Whether a task may go out: not before the agent let it, where it wants to be asked, nor before a human allowed it. */
export function createGate({ state, ports, held, now, emit, makeRoom }: GateOptions) {
  function keep(call: Held): "held" {
    held.set(call.task, call);
    return "held";
  }

  return async (node: Node, args: JsonObject, signal: AbortSignal): Promise<"go" | "held" | TaskResult> => {
    const { id, task } = node;
    const call = task.type === "tool" ? { task: id, tool: task.tool, arguments: args } : { task: id, code: task.code };
    if (state.options.pause === "effects" && node.effect === "effectful" && !state.released.has(id)) {
      return keep({ ...call, reason: "effects", why: "what comes next acts on the world" });
    }
    const needed = task.type === "tool" ? await ports.approvalFor(task, args) : undefined;
    if (!needed) return "go";
    const given = state.approvals.get(id);
    if (given?.hash === needed.hash && given.expires > now()) return "go";
    const request: Held = { ...call, reason: "approval", ...needed };
    const goBack = makeRoom(node);
    const word = await ports.askHuman(request, signal).catch(() => undefined);
    goBack();
    if (signal.aborted || !word) return keep(request);
    const about = { task: id, hash: needed.hash };
    if (word === "reject") {
      void emit({ kind: "command", by: "human", decision: { action: "reject", ...about } });
      return { ok: false, kind: "failed", error: NOT_ALLOWED };
    }
    void emit({
      kind: "command",
      by: "human",
      decision: { action: "approve", ...about, expires: now() + APPROVAL_MS },
    });
    return "go";
  };
}
