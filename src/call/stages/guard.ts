import { AgentCardsError, type Call, calledId, isObject, type JsonObject, oneLine } from "../../model/mod.ts";
import type { Stage } from "./stage.ts";

/** A call as a guardrail sees it. */
export interface GuardedCall {
  /** `server:tool`. */
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly effect: "read" | "idempotent" | "effectful";
  readonly by: "agent" | "code" | "human" | "speculation";
  /** The run and the task that the call belongs to. */
  readonly run?: string;
  readonly task?: string;
}

/** The verdict of a guardrail: nothing lets the call go on, `deny` ends it, `ask` needs a person's approval. */
export type GuardVerdict = undefined | { readonly deny: string } | { readonly ask: string };

/** A function of the program around the gateway that judges each call, after the rules of the configuration. */
export type Guardrail = (call: GuardedCall) => GuardVerdict | Promise<GuardVerdict>;

/** Asks the guardrails one after another. One that fails forbids the call. */
export function guard(guardrails: readonly Guardrail[]): Stage {
  return async (call, next) => {
    let asks = call.asks;
    for (const judge of guardrails) {
      const verdict = await judged(judge, call);
      if (!verdict) continue;
      if ("deny" in verdict) {
        throw new AgentCardsError("TOOL_DENIED", `${calledId(call)} was refused: ${oneLine(verdict.deny, 500)}`);
      }
      asks ??= oneLine(verdict.ask, 500);
    }
    return await next(asks === undefined ? call : { ...call, asks });
  };
}

async function judged(judge: Guardrail, call: Call): Promise<GuardVerdict> {
  const { params, effect, origin: { by, run, task } } = call;
  try {
    return await judge({
      tool: calledId(call),
      arguments: (isObject(params.arguments) ? params.arguments : {}) as JsonObject,
      effect,
      by,
      ...run !== undefined && { run },
      ...task !== undefined && { task },
    });
  } catch (cause) {
    throw new AgentCardsError("TOOL_DENIED", `${calledId(call)} was refused: a guardrail failed`, { cause });
  }
}
