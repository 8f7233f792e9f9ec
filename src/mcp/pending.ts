import { AgentCardsError, type CallResult, isObject } from "../model/mod.ts";
import type { Message, StdioTransport } from "./stdio.ts";
import { MAX_LIST_BYTES } from "./list_bounds.ts";
import { gaveUp, type RequestOptions, type WhileAsked } from "./upstream.ts";

type Request = (method: string, params: Record<string, unknown>, options: RequestOptions) => Promise<CallResult>;

interface Waiter {
  readonly method: string;
  /** The rest of its time. */
  left(): number;
  readonly onProgress: RequestOptions["onProgress"];
  settle(reply: CallResult): void;
  fail(error: AgentCardsError): void;
  giveUp(): void;
}

/** The time that the calls on one connection may still take. */
export interface Patience {
  /** Gives a function that tells how much is left of so much time. */
  start(timeoutMs: number): () => number;
  readonly whileAsked: WhileAsked;
}

/** A human who was asked may take so long; then the time of a call goes on. */
const LONGEST_ANSWER_MS = 10 * 60_000;

/**
 * A server that asks back cannot answer before it was answered. An older one does not say for which call it asks, so
 * the time of all its calls stands still.
 */
export function createPatience(now: () => number = () => performance.now()): Patience {
  let [asking, since, stood] = [0, 0, 0];
  const stoodUntil = (time: number) => stood + (asking > 0 ? time - since : 0);
  return {
    start(timeoutMs) {
      const began = now();
      const before = stoodUntil(began);
      return () => {
        const time = now();
        return began + timeoutMs + Math.min(stoodUntil(time) - before, LONGEST_ANSWER_MS) - time;
      };
    },
    async whileAsked(work) {
      if (asking++ === 0) since = now();
      try {
        return await work();
      } finally {
        if (asking === 1) stood = stoodUntil(now());
        asking--;
      }
    },
  };
}

/**
 * Our own requests on the connection, beside the SDK's: forwarded as they are, without a schema in between, so that
 * nothing a server says is lost or validated twice. Ids are strings; the SDK's are numbers.
 */
export function createPending(server: string, patience: Patience) {
  const waiting = new Map<string, Waiter>();
  let last = 0;

  // One timer for all, set for the earliest deadline: a timer per call would cost more than the rest of this file.
  let timer: ReturnType<typeof setTimeout> | undefined;
  let due = Infinity;
  function watch(left: number): void {
    const deadline = performance.now() + left;
    if (deadline >= due) return;
    clearTimeout(timer);
    due = deadline;
    timer = setTimeout(expire, left);
  }
  function expire(): void {
    due = Infinity;
    for (const { left, giveUp } of waiting.values()) {
      const ms = left();
      if (ms <= 0) giveUp();
      else watch(ms);
    }
  }

  const settle = (id: unknown, reply: CallResult): boolean => {
    const waiter = waiting.get(id as string);
    if (!waiter) return false;
    waiting.delete(id as string);
    waiter.settle(reply);
    return true;
  };

  const idsOf = (isMeant: (method: string) => boolean) =>
    [...waiting].filter(([, { method }]) => isMeant(method)).map(([id]) => id);

  return {
    settle,
    isWaiting: () => waiting.size > 0,
    calls: () => idsOf((method) => method === "tools/call"),
    lists: () => idsOf(isList),
    /** The most bytes of a message. Where nothing but lists is waited for, nothing longer than a list is kept. */
    bound: (most: number) => () =>
      waiting.size > 0 && waiting.values().every(({ method }) => isList(method))
        ? Math.min(most, MAX_LIST_BYTES)
        : most,
    /** Answers all requests for lists with an error; false where there is none. */
    refuseLists(message: string): boolean {
      const ids = idsOf(isList);
      for (const id of ids) settle(id, { kind: "error", code: -32603, message });
      return ids.length > 0;
    },
    /** Settles the request a message answers; late and doubled answers are ours too, and dropped. */
    take(message: Message): boolean {
      if (message.method === "notifications/progress") {
        const { progressToken, ...progress } = isObject(message.params) ? message.params : {};
        const waiter = waiting.get(progressToken as string);
        try {
          waiter?.onProgress?.(progress);
        } catch {
          // Whoever cannot read it does without; the connection is not to blame.
        }
        return waiter !== undefined;
      }
      const { id } = message;
      if (message.method !== undefined || typeof id !== "string" || !id.startsWith("ac-")) return false;
      settle(id, replyOf(message));
      return true;
    },
    failAll(reason: string): void {
      clearTimeout(timer);
      for (const [id, waiter] of waiting) {
        waiting.delete(id);
        waiter.fail(
          new AgentCardsError("SERVER_LOST", `Server "${server}" went away during the call: ${reason}`, {
            hint: "The call was not repeated, since it may have had an effect. The next call starts the server again.",
          }),
        );
      }
    },
    /** The function that sends a request over a transport and waits for its reply. */
    over: (transport: StdioTransport): Request => (method, given, options) => {
      const id = `ac-${++last}`;
      const params = options.onProgress ? { ...given, _meta: { ...given._meta as object, progressToken: id } } : given;
      const { signal, timeoutMs } = options;
      if (transport.reason !== undefined) {
        const reason = `Server "${server}" is gone: ${transport.reason}`;
        return Promise.reject(new AgentCardsError("SERVER_LOST", reason, { data: { isUnsent: true } }));
      }
      if (signal?.aborted) return Promise.reject(gaveUp(server, signal, timeoutMs));
      // Sent first: all that follows happens while the server is at work already.
      transport.write({ jsonrpc: "2.0", id, method, params });
      return new Promise<CallResult>((resolve, reject) => {
        const giveUp = () => {
          if (!waiting.delete(id)) return;
          transport.write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
          reject(gaveUp(server, signal, timeoutMs));
        };
        const left = patience.start(timeoutMs);
        waiting.set(id, { method, left, onProgress: options.onProgress, settle: resolve, fail: reject, giveUp });
        watch(timeoutMs);
        signal?.addEventListener("abort", giveUp);
      });
    },
  };
}

const isList = (method: string) => method.endsWith("/list");

function replyOf(message: Message): CallResult {
  if (isObject(message.error)) {
    const { code, message: text, data } = message.error;
    return {
      kind: "error",
      code: typeof code === "number" ? code : -32603,
      message: typeof text === "string" ? text : "the server gave no reason",
      ...data !== undefined && { data },
    };
  }
  if (isObject(message.result)) return { kind: "result", result: message.result };
  return { kind: "error", code: -32603, message: "the server's answer holds neither a result nor an error" };
}
