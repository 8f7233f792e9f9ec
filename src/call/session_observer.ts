import type { CallResult, Origin } from "../model/mod.ts";
import { debug, shapeOf } from "../telemetry/mod.ts";
import type { CallRecord, EndedCall, Observer } from "./observer.ts";
import type { Session } from "./session.ts";

/** Files every call of a session, and hands it to learning. */
export function createObserver(session: Session): Observer {
  const learning = session.shared.watch(session);
  return {
    ended(ended) {
      const { tool, ms, ok, call } = ended;
      session.shared.record(recordOf(session, ended));
      learning.ended(ended);
      debug("call", () => ({ tool, ms, ok, input: shapeOf(call.params) }));
    },
    asked: learning.asked,
    close: learning.close,
  };
}

function recordOf(session: Session, { call, result, tool, ms, ok }: EndedCall): CallRecord {
  return { ...fileOf(session, call.origin), tool, ms, ok, bytes: result ? sizeOf(result) : 0 };
}

/** The part of a record that tells who made the call. */
export function fileOf({ client, cwd }: Pick<Session, "client" | "cwd">, { by, run, task }: Origin) {
  return { by, client: client.name ?? null, folder: cwd, run: run ?? null, task: task ?? null };
}

/** The characters of a result. */
function sizeOf(result: CallResult): number {
  if (result.kind === "large") return result.large.bytes;
  return JSON.stringify(result.kind === "result" ? result.result : result.message).length;
}
