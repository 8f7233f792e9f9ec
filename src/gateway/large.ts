import type { LargeMessage } from "../mcp/connect_stdio.ts";
import type { Redactor } from "../telemetry/redact.ts";
import type { LargeReply, LargeRequest } from "./large_worker.ts";
import { newHandle, type ResultStore } from "./results.ts";

/** Parses frames of many megabytes in a Worker, so that nobody else waits for them. */
export interface LargeFrames {
  parse(frame: Uint8Array, options: { calls: readonly string[]; answerTokens: number }): Promise<LargeMessage>;
  close(): void;
}

/** The Worker starts with the first large frame and stays. */
export function createLargeFrames(results: ResultStore, redactor: Redactor): LargeFrames {
  const waiting = new Map<number, PromiseWithResolvers<LargeReply>>();
  let worker: Worker | undefined;
  let last = 0;

  function start(): Worker {
    const started = new Worker(new URL("./large_worker.ts", import.meta.url), { type: "module", name: "large" });
    started.onmessage = ({ data }: MessageEvent<{ id: number; reply?: LargeReply; error?: string }>) => {
      const waiter = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.reply) waiter?.resolve(data.reply);
      else waiter?.reject(new Error(data.error));
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

  return {
    async parse(frame, { calls, answerTokens }) {
      worker ??= start();
      const id = ++last;
      const waiter = Promise.withResolvers<LargeReply>();
      waiting.set(id, waiter);
      const request: LargeRequest = {
        id,
        frame,
        calls,
        answerTokens,
        handle: newHandle(),
        directory: results.directory,
        secrets: redactor.forms(),
      };
      worker.postMessage(request, [frame.buffer as ArrayBuffer]);
      const reply = await waiter.promise;
      if (reply.kind === "message") return reply;
      if (reply.stored) results.register({ handle: request.handle, tool: "", bytes: reply.stored });
      return { kind: "shaped", id: reply.id, large: { json: reply.json, isError: reply.isError, bytes: reply.bytes } };
    },
    close() {
      worker?.terminate();
    },
  };
}
