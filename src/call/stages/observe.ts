import {
  AGENT_SERVER,
  type Call,
  calledId,
  type CallResult,
  createQuietWork,
  isFailure,
  isObject,
  type JsonObject,
  type Origin,
  OWN_SERVER,
  toolId,
} from "../../model/mod.ts";
import { debug, shapeOf } from "../../telemetry/mod.ts";
import type { CallRecord, EndedCall, Observer } from "../observer.ts";
import { isChecked, resultProblem } from "../schema/result_check.ts";
import type { Session } from "../session.ts";
import type { Stage } from "./stage.ts";

/** Hands every call that ended, refused ones too, to learning and statistics. */
export function observe(observer: Pick<Observer, "ended">): Stage {
  return async (call, next) => {
    const began = performance.now();
    let result: CallResult | undefined;
    try {
      return result = await next(call);
    } finally {
      observer.ended({ call, result, tool: calledId(call), ms: performance.now() - began, ok: isOk(result) });
    }
  };
}

function isOk(result: CallResult | undefined): boolean {
  return result !== undefined && !isFailure(result);
}

/** Calls are looked at together, once none has ended for a moment: their answers have gone out by then. */
const LATER = { quietMs: 20, latestMs: 500 };
/** So much waits at the most: calls, and characters of their results. */
const MOST_WAITING = 500;
const MOST_CHARACTERS = 8_000_000;
/** So many are looked at before others have their turn: some 2 ms. */
const AT_ONCE = 50;
const OWN = `${OWN_SERVER}:`;

interface Waiting {
  readonly ended: EndedCall;
  readonly bytes: number;
}

/** Files every call of a session, and hands it to learning, after its answer has gone out. */
export function createObserver(session: Session): Observer {
  const learning = session.shared.watch(session);
  const waiting: Waiting[] = [];
  const later = createQuietWork(LATER, look);
  let held = 0;
  let rest: ReturnType<typeof setTimeout> | undefined;

  function look(): void {
    later.cancel();
    clearTimeout(rest);
    const some = waiting.splice(0, AT_ONCE);
    for (const { ended, bytes } of some) {
      const { tool, ms, ok, call } = ended;
      held -= bytes;
      const record = { ...fileOf(session, call.origin), tool, ms, ok, bytes, ...sizesOf(session, call, bytes) };
      file(ended, record);
      note(ended);
      debug("call", () => ({ tool, ms, ok, input: shapeOf(call.params) }));
    }
    learning.ended(some.map(({ ended }) => ended));
    if (waiting.length > 0) rest = setTimeout(look, 0);
  }

  /** Files a call, with the problem of its result where that does not fit the schema of its tool. */
  function file({ call: { address }, result, ok }: EndedCall, record: CallRecord): void {
    const tool = ok ? session.inMemory(address.server, address.name) : undefined;
    if (!tool || result?.kind !== "result" || !isChecked(tool, result)) return session.shared.record(record);
    resultProblem(tool, result.result.structuredContent as JsonObject).catch(() => undefined).then((problem) => {
      const misfit = problem === undefined ? problem : session.shared.redactor.redact(problem);
      session.shared.record({ ...record, ...misfit !== undefined && { misfit } });
    });
  }

  /** Keeps the arguments for the replay of rules. */
  function note({ call, tool, ok }: EndedCall): void {
    const { client, folder, run, by } = fileOf(session, call.origin);
    if (call.method !== "tools/call" || tool.startsWith(OWN)) return;
    const text = JSON.stringify(session.shared.redactor.clean(call.params.arguments ?? {}));
    session.shared.argumentHistory.note(
      { at: Date.now(), tool, effect: call.effect, by, client, folder, run, ok },
      text,
    );
  }

  return {
    ended(ended) {
      const bytes = ended.result ? sizeOf(ended.result) : 0;
      waiting.push({ ended, bytes });
      held += bytes;
      if (waiting.length >= MOST_WAITING || held >= MOST_CHARACTERS) look();
      else later.touch();
    },
    asked: learning.asked,
    close() {
      while (waiting.length > 0) look();
      learning.close();
    },
  };
}

/** The part of a record that tells who made the call. */
export function fileOf({ client, cwd }: Pick<Session, "client" | "cwd">, { by, run, task, agent }: Origin) {
  const name = agent === undefined ? client.name : toolId(AGENT_SERVER, agent);
  return { by, client: name ?? null, folder: cwd, run: run ?? null, task: task ?? null };
}

/** A result that is put aside leaves so many characters of itself in the answer. */
const PREVIEW = 1_200;

/** The characters of a call's arguments, and those of its result that its agent's context was spared. */
function sizesOf({ config }: Session, { params, origin }: Call, bytes: number) {
  const isInside = origin.run !== undefined || origin.by === "code";
  const isAside = bytes > 4 * config.limits.answer_tokens;
  const bytes_in = isObject(params.arguments) ? JSON.stringify(params.arguments).length : 0;
  return { bytes_in, kept: isInside ? bytes : isAside ? bytes - PREVIEW : 0 };
}

/** The characters of a result: of its texts and media, else of its structured content. */
export function sizeOf(result: CallResult): number {
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
