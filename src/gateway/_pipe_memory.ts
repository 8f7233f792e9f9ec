import { isObject } from "../model/json.ts";

export type Message = Record<string, unknown>;

/** Our engine always writes the id at the beginning of a line. */
const ID = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?[\d.eE+-]+)/;
const HEAD_BYTES = 300;
const CATCH_UP_MS = 20;

interface OpenRequest {
  readonly method: string;
  readonly isModern: boolean;
  /** The frame of a subscription, which the next engine must hear too. */
  readonly line: Uint8Array | undefined;
  /** Whether an engine has heard it. */
  wasSent: boolean;
}

/** What must be known to outlive an engine. */
export function createMemory() {
  const decoder = new TextDecoder();
  /** Requests without an answer yet, by the JSON text of their id. */
  const open = new Map<string, OpenRequest>();
  let initialize: { id: string; line: Uint8Array } | undefined;
  let initialized: Uint8Array | undefined;
  const swallowed = new Set<string>();
  let swallowAcks = 0;

  /** Frames that went by and were not looked at yet. */
  const unread: { line: Uint8Array; kind: "sent" | "waiting" | "answer" }[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;

  /** Reading a frame takes longer than passing it on, so it is put off until nobody waits. */
  function readLater(line: Uint8Array, kind: "sent" | "waiting" | "answer"): void {
    unread.push({ line, kind });
    timer ??= setTimeout(catchUp, CATCH_UP_MS);
  }

  function catchUp(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const { line, kind } of unread.splice(0)) {
      if (kind === "answer") readAnswer(line);
      else readRequest(line, kind === "sent");
    }
  }

  function readAnswer(head: Uint8Array): void {
    const id = ID.exec(decoder.decode(head))?.[1];
    if (id !== undefined) open.delete(id);
  }

  function readRequest(line: Uint8Array, wasSent: boolean): void {
    let message: unknown;
    try {
      message = JSON.parse(decoder.decode(line));
    } catch {
      return;
    }
    if (!isObject(message) || typeof message.method !== "string") return;
    const { id, method } = message;
    if (method === "notifications/initialized") initialized = line;
    if (method === "notifications/cancelled" && isObject(message.params)) {
      open.delete(JSON.stringify(message.params.requestId));
    }
    if (typeof id !== "string" && typeof id !== "number") return;
    const key = JSON.stringify(id);
    if (method === "initialize" && !initialize) initialize = { id: key, line };
    const meta = isObject(message.params) && isObject(message.params._meta) ? message.params._meta : {};
    open.set(key, {
      method,
      isModern: "io.modelcontextprotocol/protocolVersion" in meta,
      line: method === "subscriptions/listen" ? line : undefined,
      wasSent,
    });
  }

  return {
    /** Remembers a frame of the client. */
    note: (line: Uint8Array, wasSent = true) => readLater(line.slice(), wasSent ? "sent" : "waiting"),
    /** Remembers a frame of the engine. */
    noteAnswer: (line: Uint8Array) => readLater(line.slice(0, HEAD_BYTES), "answer"),
    /** Whether nothing was replayed that is still to be answered. */
    isQuiet: () => swallowed.size === 0 && swallowAcks === 0,
    /** Whether a frame answers a replay, which the client must not see. */
    isReplayed(line: Uint8Array): boolean {
      const head = decoder.decode(line.subarray(0, HEAD_BYTES));
      const id = ID.exec(head)?.[1];
      if (id !== undefined) return swallowed.delete(id);
      return head.includes('"notifications/subscriptions/acknowledged"') && swallowAcks > 0 && swallowAcks-- > 0;
    },
    /** What a new engine must hear first. */
    replay(): Uint8Array[] {
      catchUp();
      swallowed.clear();
      swallowAcks = 0;
      const frames: Uint8Array[] = [];
      if (initialize && !open.has(initialize.id)) {
        swallowed.add(initialize.id);
        frames.push(initialize.line);
        if (initialized) frames.push(initialized);
      }
      for (const request of open.values()) {
        if (request.line && request.wasSent) {
          swallowAcks++;
          frames.push(request.line);
        }
        request.wasSent = true;
      }
      return frames;
    },
    /** The answers of requests that will get none; subscriptions stay. */
    fail(why: string): Message[] {
      catchUp();
      const replies: Message[] = [];
      for (const [key, { method, isModern, line }] of open) {
        if (line) continue;
        open.delete(key);
        // A handshake that failed is not to be repeated: the client knows and will try again itself.
        if (initialize?.id === key) initialize = undefined;
        const id = JSON.parse(key);
        if (method === "tools/call") {
          const result = { content: [{ type: "text", text: why }], isError: true };
          replies.push({ id, result: isModern ? { resultType: "complete", ...result } : result });
        } else replies.push({ id, error: { code: -32603, message: why } });
      }
      return replies;
    },
  };
}
