import type { JsonObject } from "../model/json.ts";
import { APPROVAL_MS, NOT_ALLOWED } from "./approval.ts";
import type { Happening } from "./event.ts";
import type { Node } from "./_nodes.ts";
import type { Held } from "./pending.ts";
import type { RunPorts } from "./run_port.ts";
import type { Approval, RunState } from "./run_state.ts";
import { releaseOf } from "./state.ts";

export interface GateOptions {
  readonly state: RunState;
  readonly ports: Pick<RunPorts, "approvalFor" | "askHuman">;
  readonly held: Map<string, Held>;
  now(): number;
  emit(happening: Happening): Promise<void>;
  /** Lets others run while somebody thinks; the returned function takes the place back. */
  makeRoom(node: Node): () => void;
}

/** Whether a call may go out; `approval` is what this uses up. */
export type GateWord =
  | { readonly kind: "go"; readonly approval?: string }
  | { readonly kind: "held" }
  | { readonly kind: "refused"; readonly error: string };

/** Whether a task may go out: not before the agent let it, where it wants to be asked, nor before a human allowed it. */
export function createGate({ state, ports, held, now, emit, makeRoom }: GateOptions) {
  /** Given, and gone through with already: the row that says so may still be on its way. */
  const used = new WeakSet<Approval>();

  /** Calls that were let go and have gone through: the row that says so may still be on its way. */
  const gone = new Set<string>();

  function keep(call: Held): GateWord {
    held.set(call.task, call);
    return { kind: "held" };
  }

  function use(hash: string): GateWord | undefined {
    const given = state.approvals.get(hash);
    if (!given || used.has(given) || given.expires <= now()) return undefined;
    used.add(given);
    return { kind: "go", approval: hash };
  }

  /** `key`: of a call that code makes. Code itself does nothing to the world: what it calls comes here by itself. */
  return async (node: Node, args: JsonObject, signal: AbortSignal, key?: string): Promise<GateWord> => {
    const { id, task } = node;
    const call = task.type === "tool" ? { task: id, tool: task.tool, arguments: args } : { task: id, code: task.code };
    const isActing = task.type === "tool" && node.effect === "effectful";
    const about = { ...call, ...key !== undefined && { key } };
    if (state.options.pause === "effects" && isActing) {
      const release = releaseOf(about);
      if (!state.released.has(release) || gone.has(release)) {
        return keep({ ...about, reason: "effects", why: "what comes next may act on the world" });
      }
      gone.add(release);
    }
    const needed = task.type === "tool" ? await ports.approvalFor(task, args) : undefined;
    if (!needed) return { kind: "go" };
    const { hash } = needed;
    if (state.refused.has(hash)) return { kind: "refused", error: NOT_ALLOWED };
    const allowed = use(hash);
    if (allowed) return allowed;
    const request: Held = { ...call, reason: "approval", ...needed };
    const goBack = makeRoom(node);
    const word = await ports.askHuman(request, signal).catch(() => undefined);
    goBack();
    if (signal.aborted || !word) return keep(request);
    if (word === "reject") {
      void emit({ kind: "command", by: "human", decision: { action: "reject", task: id, hash } });
      return { kind: "refused", error: NOT_ALLOWED };
    }
    const expires = now() + APPROVAL_MS;
    void emit({ kind: "command", by: "human", decision: { action: "approve", task: id, hash, expires } });
    return use(hash)!;
  };
}
