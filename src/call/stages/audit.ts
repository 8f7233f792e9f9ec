import {
  AGENT_SERVER,
  type Call,
  calledId,
  type CallResult,
  isFailure,
  toAgentCardsError,
  toolId,
} from "../../model/mod.ts";
import type { AuditEvent } from "../../policy/mod.ts";
import type { Session } from "../session.ts";
import { sizeOf } from "./observe.ts";
import type { Stage } from "./stage.ts";

/** Codes of calls that a rule or a human did not let pass. */
const REFUSED: ReadonlySet<string> = new Set(["TOOL_DENIED", "HUMAN_NEEDED", "APPROVAL_PENDING"]);

/** Writes a row for every call before its answer goes out, refused ones too. An acting call has a row of `commit`, too. */
export function audit(session: Session): Stage {
  const { shared: { audit }, config: { audit: { content } } } = session;
  return async (call, next) => {
    const began = performance.now();
    let row: AuditEvent | undefined;
    /** The part of the row that is known before the end. */
    const begun = (): AuditEvent => {
      if (row) return row;
      const { arguments: given = call.params } = call.params;
      const text = JSON.stringify(given);
      return row = {
        ...eventOf(session, call),
        kind: "call",
        args: audit.digest(text),
        bytes_in: text.length,
        ...content === "full" && { values: session.shared.redactor.clean(text) },
      };
    };
    const ended = (outcome: string, code?: string, bytes_out?: number) =>
      audit.append({ ...begun(), outcome, code, bytes_out, ms: Math.round((performance.now() - began) * 100) / 100 });
    let result: CallResult;
    try {
      const end = next(call);
      // The server is at work meanwhile.
      queueMicrotask(begun);
      result = await end;
    } catch (error) {
      const { code } = toAgentCardsError(error);
      ended(REFUSED.has(code) ? "refused" : "error", code);
      throw error;
    }
    ended(isFailure(result) ? "failed" : "ok", undefined, sizeOf(result));
    return result;
  };
}

/** The part of a row that tells the call and its author. */
export function eventOf(session: Pick<Session, "client" | "cwd">, call: Call): Omit<AuditEvent, "kind"> {
  const { method, origin: { by, run, task, agent } } = call;
  return {
    call: call.id,
    tool: calledId(call),
    ...method !== "tools/call" && { method },
    effect: call.effect,
    by,
    client: agent === undefined ? session.client.name : toolId(AGENT_SERVER, agent),
    folder: session.cwd,
    ...run !== undefined && { parent: task === undefined ? run : `${run}/${task}` },
  };
}
