import { AgentCardsError, type Allowance, type Effect, type JsonObject } from "../model/mod.ts";
import type { Approvable } from "./approval.ts";
import { callKey } from "./code_call.ts";
import type { Happening } from "./event.ts";
import type { Gate } from "./gate.ts";
import { sentArguments } from "./inputs.ts";
import type { Node } from "./nodes.ts";
import type { Held } from "./pending.ts";
import type { AgentCall, AgentCalls } from "./run_port.ts";
import type { RunState } from "./run_state.ts";

export interface AgentCallsOptions {
  readonly node: Node;
  readonly attempt: number;
  readonly state: RunState;
  readonly gate: Gate;
  readonly held: Map<string, Held>;
  /** Ends the program when aborted. */
  readonly controller: AbortController;
  emit(happening: Happening): Promise<void>;
}

/** Makes the calls that the agent of one task makes: each is in the journal under the task. */
export function createAgentCalls(
  { node, attempt, state, gate, held, controller, emit }: AgentCallsOptions,
): AgentCalls {
  const about = { task: node.id, attempt };
  let last = Math.max(0, ...state.tasks.get(node.id)?.calls?.keys() ?? []);
  let acting = 0;
  let asking: Promise<unknown> = Promise.resolve();
  let canGoOn = false;
  let isStopping = false;
  let reason: { kind: "held" | "in_doubt"; error: string } | undefined;

  function giveUp(kind: "held" | "in_doubt", error: string): void {
    reason ??= { kind, error };
    end();
  }

  function end(): void {
    isStopping = true;
    if (acting === 0) controller.abort();
  }

  /** One question at a time: a human who sees many reads none. */
  async function ask(inside: Node, args: JsonObject, needed: Approvable): Promise<Allowance> {
    const turn = asking.then(() => gate.allow(inside, args, needed, controller.signal));
    asking = turn.catch(() => {});
    const word = await turn;
    if (word.kind !== "held") return word;
    if (canGoOn) {
      giveUp("held", "a call of its agent waits for a word");
      return word;
    }
    // A program that cannot go on later cannot wait for a person who is not there.
    held.delete(node.id);
    return { kind: "refused", error: `It needs a human's approval (${needed.why}), and nobody can be asked now` };
  }

  function open(tool: string, args: JsonObject, effect: Effect): AgentCall {
    const task = { type: "tool", id: node.id, tool, arguments: args, depends_on: [] } as const;
    const inside: Node = { ...node, task, effect };
    const isActing = effect === "effectful";
    const number = ++last;
    let [isBegun, isSent, isOpen] = [false, false, true];
    const close = () => {
      if (!isOpen) return;
      isOpen = false;
      if (isActing && isBegun) acting--;
      if (isStopping && acting === 0) controller.abort();
    };
    const row = async (approval?: string) => {
      isBegun = true;
      if (isActing) acting++;
      const written = emit({
        kind: "called",
        ...about,
        call: number,
        tool,
        key: callKey(tool, args),
        effect,
        ...effect !== "read" && sentArguments(args),
        ...approval !== undefined && { approval },
      });
      if (effect !== "read") await written;
    };
    return {
      signal: controller.signal,
      allow: (needed) => ask(inside, args, needed),
      async beforeSend(approval) {
        if (isStopping || controller.signal.aborted) throw new AgentCardsError("RUN_STATE", "The run stops here");
        await row(approval);
      },
      onSent: () => void (isSent = true),
      async answered(answer, bytes) {
        if (!isOpen) return;
        // A call that was refused before it went out is shown as one that only asked.
        if (!isBegun) {
          void emit({ kind: "called", ...about, call: number, tool, key: callKey(tool, args), effect: "read" });
        }
        const written = emit({ kind: "answered", ...about, call: number, bytes, answer });
        try {
          if (isActing && isBegun) await written;
        } finally {
          close();
        }
      },
      lost(error) {
        if (!isOpen) return;
        if (isActing && isSent) giveUp("in_doubt", error);
        else if (isBegun) void emit({ kind: "answered", ...about, call: number, bytes: 0, answer: { kind: "none" } });
        close();
      },
      async heard() {
        if (isStopping) await new Promise(() => {});
      },
    };
  }

  return {
    open,
    goesOn: (can) => void (canGoOn = can),
    stop() {
      if (canGoOn) end();
    },
    settled(result) {
      if (reason) return Promise.resolve({ ok: false, ...reason });
      if (result.ok || !isStopping) return Promise.resolve(result);
      return Promise.resolve({ ok: false, kind: "held", error: "the run stopped" });
    },
    starts: () => ({}),
  };
}
