import type { Allowance, JsonObject } from "../model/mod.ts";
import { type Approvable, APPROVAL_MS, notAllowed } from "./approval.ts";
import type { Happening } from "./event.ts";
import type { Node } from "./nodes.ts";
import { kindOf } from "./kinds/all.ts";
import type { Held } from "./pending.ts";
import type { RunPorts } from "./run_port.ts";
import type { Approval, RunState } from "./run_state.ts";
import { releaseOf } from "./state.ts";

export interface GateOptions {
  readonly state: RunState;
  readonly ports: Pick<RunPorts, "askHuman">;
  readonly held: Map<string, Held>;
  now(): number;
  emit(happening: Happening): Promise<void>;
  /** Lets others run while a human thinks; the returned function takes the place back. */
  makeRoom(node: Node): () => void;
}

/** Decides whether a task may go out: the agent releases effects where it wants to be asked, a human allows calls. */
export function createGate({ state, ports, held, now, emit, makeRoom }: GateOptions) {
  /** Approvals that were used; the row that says so may still be on its way. */
  const used = new WeakSet<Approval>();
  /** Released calls that have gone out; the row that says so may still be on its way. */
  const gone = new Set<string>();

  function hold(call: Held): Allowance {
    held.set(call.task, call);
    return { kind: "held" };
  }

  function use(hash: string): Allowance | undefined {
    const given = state.approvals.get(hash);
    if (!given || used.has(given) || given.expires <= now()) return undefined;
    used.add(given);
    return { kind: "go", approval: hash };
  }

  return {
    /**
     * True if the run pauses before a call with effect and nobody has released this one. `key`: of a call that code
     * makes; code itself has no effect.
     */
    holds({ id, task, effect }: Node, args: JsonObject, key?: string): boolean {
      if (state.options.pause !== "effects" || kindOf(task).journalsCalls || effect !== "effectful") return false;
      const call = { task: id, ...kindOf(task).waiting(task, args), ...key !== undefined && { key } };
      const release = releaseOf(call);
      if (state.released.has(release) && !gone.has(release)) {
        gone.add(release);
        return false;
      }
      hold({ ...call, reason: "effects", why: "what comes next may act on the world" });
      return true;
    },
    /** The word of a human about a call that a rule guards: given before, asked for now, or waited for. */
    async allow(node: Node, args: JsonObject, needed: Approvable, signal: AbortSignal): Promise<Allowance> {
      const { id, task } = node;
      const { hash, why, definition } = needed;
      if (state.refused.has(hash)) return { kind: "refused", error: notAllowed(state.refused.get(hash)) };
      const allowed = use(hash);
      if (allowed) return allowed;
      const request: Held = {
        task: id,
        ...needed.call ?? kindOf(task).waiting(task, args),
        reason: "approval",
        why,
        hash,
        definition,
      };
      const goBack = makeRoom(node);
      const answer = await ports.askHuman(needed, request, signal).catch(() => undefined);
      goBack();
      if (signal.aborted || !answer) return hold(request);
      const { word, note } = answer;
      const said = { kind: "command", by: "human", ...note !== undefined && { note } } as const;
      if (word === "reject") {
        void emit({ ...said, decision: { action: "reject", task: id, hash } });
        return { kind: "refused", error: notAllowed(note) };
      }
      const expires = now() + APPROVAL_MS;
      void emit({ ...said, decision: { action: "approve", task: id, hash, expires } });
      return use(hash)!;
    },
  };
}

export type Gate = ReturnType<typeof createGate>;
