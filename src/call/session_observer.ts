import { type CallResult, isObject, type Origin } from "../model/mod.ts";
import { debug, shapeOf } from "../telemetry/mod.ts";
import type { CallRecord, EndedCall, Observer } from "./observer.ts";
import type { Session } from "./session.ts";

/** Calls are looked at together, this long after the first of them has ended: their answers have gone out by then. */
const LATER_MS = 20;
const MOST_WAITING = 500;

/** Files every call of a session, and hands it to learning, after its answer has gone out. */
export function createObserver(session: Session): Observer {
  const learning = session.shared.watch(session);
  let waiting: EndedCall[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;

  function look(): void {
    clearTimeout(timer);
    timer = undefined;
    const all = waiting;
    waiting = [];
    for (const ended of all) {
      const { tool, ms, ok, call } = ended;
      session.shared.record(recordOf(session, ended));
      learning.ended(ended);
      debug("call", () => ({ tool, ms, ok, input: shapeOf(call.params) }));
    }
  }

  return {
    ended(ended) {
      waiting.push(ended);
      if (waiting.length >= MOST_WAITING) look();
      else timer ??= setTimeout(look, LATER_MS);
    },
    asked: learning.asked,
    close() {
      look();
      learning.close();
    },
  };
}

function recordOf(session: Session, { call, result, tool, ms, ok }: EndedCall): CallRecord {
  return { ...fileOf(session, call.origin), tool, ms, ok, bytes: result ? sizeOf(result) : 0 };
}

/** The part of a record that tells who made the call. */
export function fileOf({ client, cwd }: Pick<Session, "client" | "cwd">, { by, run, task }: Origin) {
  return { by, client: client.name ?? null, folder: cwd, run: run ?? null, task: task ?? null };
}

/** The characters of a result: of its texts and media, else of its structured content. */
function sizeOf(result: CallResult): number {
  if (result.kind === "large") return result.large.bytes;
  if (result.kind === "error") return result.message.length;
  const { content, structuredContent, ...rest } = result.result;
  const blocks = Array.isArray(content) ? content : [];
  const size = blocks.reduce<number>((sum, block) => sum + sizeOfBlock(block), 0);
  return size > 0 ? size : JSON.stringify(structuredContent ?? rest).length;
}

function sizeOfBlock(block: unknown): number {
  const { text, data } = isObject(block) ? block : {};
  if (typeof text === "string") return text.length;
  return typeof data === "string" ? data.length : JSON.stringify(block).length;
}
