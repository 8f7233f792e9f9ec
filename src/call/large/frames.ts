import { AgentCardsError, type ErrorCode } from "../../model/mod.ts";
import type { Redactor } from "../../telemetry/mod.ts";
import { fs } from "../../platform/start.ts";
import type { LargeFrames } from "./port.ts";
import type { HideRequest, LargeReply, LargeRequest, PartRequest } from "./worker.ts";
import { newHandle, type ResultStore } from "../results.ts";

interface WorkerAnswer {
  readonly id: number;
  readonly reply?: LargeReply;
  readonly error?: string;
  readonly code?: ErrorCode;
  readonly hint?: string;
  readonly isMissing?: boolean;
}

/** The Worker starts with the first large frame and stays. */
export function createLargeFrames(results: ResultStore, redactor: Redactor): LargeFrames {
  const waiting = new Map<number, PromiseWithResolvers<LargeReply>>();
  let worker: Worker | undefined;
  let last = 0;

  function start(): Worker {
    const started = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "large" });
    started.onmessage = ({ data }: MessageEvent<WorkerAnswer>) => {
      const waiter = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.reply) waiter?.resolve(data.reply);
      else if (data.isMissing) waiter?.reject(fs.notFound());
      else waiter?.reject(new AgentCardsError(data.code!, data.error!, data.hint ? { hint: data.hint } : {}));
    };
    started.onerror = (event) => {
      // Out of memory, most likely: that frame is lost, the next one gets a new Worker.
      event.preventDefault();
      worker = undefined;
      for (const { reject } of waiting.values()) reject(new Error(event.message));
      waiting.clear();
    };
    return started;
  }

  type Request = LargeRequest | PartRequest | HideRequest;
  type WithoutId<T> = T extends Request ? Omit<T, "id"> : never;

  function ask(request: WithoutId<Request>, transfer: ArrayBuffer[] = []) {
    worker ??= start();
    const id = ++last;
    const waiter = Promise.withResolvers<LargeReply>();
    waiting.set(id, waiter);
    worker.postMessage({ id, ...request }, transfer);
    return waiter.promise;
  }

  async function readPart(path: string, options: PartRequest["options"]): Promise<string> {
    const reply = await ask({ path, options });
    return reply.kind === "part" ? reply.text : "";
  }

  return {
    async parse(frame, options) {
      const handle = newHandle();
      const { directory, isSynced } = results;
      const request = { frame, ...options, handle, directory, isSynced, secrets: redactor.values() };
      const reply = await ask(request, [frame.buffer as ArrayBuffer]);
      if (reply.kind === "message") return { message: reply, hidden: [] };
      if (reply.kind !== "shaped") throw new TypeError("A frame was answered with something else");
      if (reply.stored) results.register({ handle, tool: "", bytes: reply.stored });
      const { id, kind: _kind, stored: _stored, hidden, ...large } = reply;
      return { message: { kind: "shaped", id, large }, hidden };
    },
    async hide(value, pii, known) {
      const reply = await ask({ value, pii, ...known && { known } });
      if (reply.kind !== "hidden") throw new TypeError("A value was answered with something else");
      return reply;
    },
    readPart,
    readValues: async (path, places) => JSON.parse(await readPart(path, { places })),
    close() {
      worker?.terminate();
    },
  };
}
