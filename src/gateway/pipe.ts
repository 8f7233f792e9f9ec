import { describe } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import { createLineSplitter, TOO_LONG } from "../model/lines.ts";
import { createFrameWriter, type FrameWriter } from "./frames.ts";
import type { EngineConnection } from "./engine_client.ts";
import { MAX_CLIENT_FRAME } from "./hello.ts";

export interface PipeOptions {
  connect(): Promise<EngineConnection>;
  readonly input: { read(buffer: Uint8Array): Promise<number | null> };
  output(bytes: Uint8Array): void;
}

type Message = Record<string, unknown>;

/**
 * Copies frames between a client and the engine, and outlives the engine: it remembers the handshake, the open
 * subscriptions and the requests in flight, so that when the engine goes, those requests get an error that says so and
 * the next engine is told what it needs to know. It imports neither the SDK nor the database.
 */
export async function pipe(options: PipeOptions): Promise<void> {
  const encoder = new TextEncoder();
  const memory = createMemory();
  let writer: FrameWriter | undefined;
  let ended = false;
  let waiting: Uint8Array[] = [];

  const answer = (message: Message) =>
    options.output(encoder.encode(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n"));

  /** One engine's life: greet it, bring it up to date, copy what it says until it goes. */
  async function serveFrom(engine: EngineConnection): Promise<void> {
    const conn = engine.conn;
    const close = () => {
      try {
        conn.close();
      } catch {
        // It is closed already.
      }
    };
    writer = createFrameWriter(conn, close);
    for (const frame of memory.replay()) writer.write(frame);
    for (const frame of waiting) writer.write(frame);
    waiting = [];
    closeCurrent = close;
    for await (const lines of engine.lines) {
      for (const line of lines) {
        if (line === TOO_LONG || memory.swallows(line)) continue;
        options.output(withNewline(line));
      }
    }
    writer = undefined;
  }
  let closeCurrent = () => {};

  async function copyFromEngines(): Promise<void> {
    while (!ended) {
      try {
        await serveFrom(await options.connect());
      } catch (error) {
        // Nothing answers and nothing could be started: everyone who waits is told why.
        for (const reply of memory.fail(describe(error))) answer(reply);
        waiting = [];
        failure = describe(error);
        await retry.promise;
        retry = Promise.withResolvers();
        continue;
      }
      if (!ended) {
        const lost =
          "AgentCards' engine went away during this call. It may or may not have had an effect; the next call works again.";
        for (const reply of memory.fail(lost)) answer(reply);
      }
    }
  }
  let failure: string | undefined;
  let retry = Promise.withResolvers<void>();

  async function copyFromClient(): Promise<void> {
    const split = createLineSplitter(MAX_CLIENT_FRAME);
    const buffer = new Uint8Array(64 * 1024);
    for (;;) {
      const size = await options.input.read(buffer).catch(() => null);
      if (size === null) return;
      for (const line of split(buffer.subarray(0, size))) {
        if (line === TOO_LONG) {
          answer({ id: null, error: { code: -32600, message: `The frame is larger than ${MAX_CLIENT_FRAME} bytes` } });
          continue;
        }
        memory.note(line);
        if (writer) writer.write(line);
        else {
          waiting.push(line.slice());
          if (failure !== undefined) {
            failure = undefined;
            retry.resolve();
          }
        }
      }
    }
  }

  const copying = copyFromEngines();
  await copyFromClient();
  ended = true;
  await writer?.drained();
  closeCurrent();
  retry.resolve();
  await Promise.race([copying, new Promise((resolve) => setTimeout(resolve, 100))]);
}

function withNewline(line: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(line.length + 1);
  bytes.set(line);
  bytes[line.length] = 0x0a;
  return bytes;
}

/** Our engine always writes the id at the beginning of a line. */
const ID = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?[\d.eE+-]+)/;
const HEAD_BYTES = 300;

/** What must be known to outlive an engine. */
function createMemory() {
  const decoder = new TextDecoder();
  /** Requests without an answer yet, by the JSON text of their id. */
  const open = new Map<string, { method: string; isModern: boolean; line: Uint8Array | undefined }>();
  let initialize: { id: string; line: Uint8Array } | undefined;
  let initialized: Uint8Array | undefined;
  const swallowed = new Set<string>();
  let swallowAcks = 0;

  return {
    /** Remembers a frame of the client. */
    note(line: Uint8Array): void {
      let message: unknown;
      try {
        message = JSON.parse(decoder.decode(line));
      } catch {
        return;
      }
      if (!isObject(message) || typeof message.method !== "string") return;
      const { id, method } = message;
      if (method === "notifications/initialized") initialized = line.slice();
      if (method === "notifications/cancelled" && isObject(message.params)) {
        open.delete(JSON.stringify(message.params.requestId));
      }
      if (typeof id !== "string" && typeof id !== "number") return;
      const key = JSON.stringify(id);
      if (method === "initialize" && !initialize) initialize = { id: key, line: line.slice() };
      const meta = isObject(message.params) && isObject(message.params._meta) ? message.params._meta : {};
      open.set(key, {
        method,
        isModern: "io.modelcontextprotocol/protocolVersion" in meta,
        line: method === "subscriptions/listen" ? line.slice() : undefined,
      });
    },
    /** Notes a frame of the engine; true when it answers something that the client did not ask this engine. */
    swallows(line: Uint8Array): boolean {
      const head = decoder.decode(line.subarray(0, HEAD_BYTES));
      const id = ID.exec(head)?.[1];
      if (id === undefined) {
        if (swallowAcks > 0 && head.includes('"notifications/subscriptions/acknowledged"')) return swallowAcks-- > 0;
        return false;
      }
      if (swallowed.delete(id)) return true;
      open.delete(id);
      return false;
    },
    /** What a new engine must hear first. */
    replay(): Uint8Array[] {
      const frames: Uint8Array[] = [];
      if (initialize && !open.has(initialize.id)) {
        swallowed.add(initialize.id);
        frames.push(initialize.line);
        if (initialized) frames.push(initialized);
      }
      for (const { line } of open.values()) {
        if (!line) continue;
        swallowAcks++;
        frames.push(line);
      }
      return frames;
    },
    /** The answers of requests that will get none; subscriptions stay. */
    fail(why: string): Message[] {
      const replies: Message[] = [];
      for (const [key, { method, isModern, line }] of open) {
        if (line) continue;
        open.delete(key);
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
