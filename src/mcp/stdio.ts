import { coalesce, createLineSplitter, isObject, jsonDepth, nextTurn, TOO_LONG } from "../model/mod.ts";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { requestIdIn } from "./request_id.ts";
import { type Traffic, unasked, unaskedBytes } from "./traffic.ts";
import type { ServerProcess } from "./process.ts";

/** One message of a server, parsed but not believed. */
export type Message = Record<string, unknown>;

export interface StdioOptions {
  /** The longest frame that is allowed just now; the bytes of a longer one are not kept. */
  mostBytes(): number;
  /** Told of a frame that was too long; gives why the connection cannot go on, unless it can. */
  onTooLong(): string | undefined;
  /** Above this a frame is parsed elsewhere. */
  readonly largeFrameBytes?: number;
  readonly traffic: Traffic;
  /** Parses a frame and takes configured secrets out of it. */
  parse(json: string): unknown;
  /** Sees each message first; true means it was for the interceptor and goes no further. */
  intercept(message: Message): boolean;
  /** Takes configured secrets out of a text. */
  redact(text: string): string;
  /** Gets frames that would stall the event loop if they were parsed here; nothing more is read until it is done. */
  onLargeFrame(bytes: Uint8Array): Promise<void>;
  /** Something came that is no message; told once per frame, never thrown. */
  onGarbage(what: string): void;
}

/** 1 MB of JSON takes some 10 ms. */
const LARGE_FRAME = 1024 * 1024;
const MAX_DEPTH = 256;
/** So much may wait for a server that does not read. */
const MAX_UNREAD = 64 * 1024 * 1024;
const CHUNK = 64 * 1024;
/** So long the frames of one server are handled before others have their turn. */
const SLICE_MS = 2;
/** So many frames are handled between two looks at the clock. */
const FRAMES_A_LOOK = 32;
/** A server that sends more than its budgets is read so much later; its pipe fills up meanwhile, and it waits. */
const FLOOD_PAUSE_MS = 5;
/** Of progress that is over the budget the newest is passed on so often. */
const PROGRESS_MS = 50;

const TOO_MANY = { code: -32603, message: "Too many requests at once" };

export interface StdioTransport extends Transport {
  /** Writes one message without waiting for the pipe to drain. */
  write(message: unknown): void;
  /** Ends the connection at once because of what the server did. */
  fail(reason: string): void;
  /** The reason why the connection ended, once it has. */
  readonly reason: string | undefined;
}

/** An SDK transport over a process of ours, tolerant of garbage, bounded, and open to an interceptor. */
export function createStdioTransport(process: ServerProcess, options: StdioOptions): StdioTransport {
  const { largeFrameBytes: largeFrame = LARGE_FRAME, traffic } = options;
  const split = createLineSplitter(options.mostBytes);
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let unread = 0;
  const send = coalesce((bytes) => {
    unread += bytes.length;
    void process.stdin.write(bytes as Uint8Array<ArrayBuffer>).catch(() => {}).then(() => unread -= bytes.length);
    if (unread > MAX_UNREAD) transport.fail(`it does not read what it is sent: ${unread} bytes wait`);
  });
  let reason: string | undefined;

  const transport: StdioTransport & { pid: number; stderr: null } = {
    // The SDK takes a transport without these two keys for HTTP and will not fall back to the older handshake.
    pid: process.pid,
    stderr: null,
    get reason() {
      return reason;
    },
    start() {
      void read();
      return Promise.resolve();
    },
    write: (message) => send(encoder.encode(JSON.stringify(message) + "\n")),
    send(message) {
      transport.write(message);
      return Promise.resolve();
    },
    fail(why) {
      end(why);
      void process.stop(0);
    },
    async close() {
      end("it was stopped");
      await process.stop();
    },
  };

  function end(why: string): void {
    if (reason !== undefined) return;
    reason = why;
    clearTimeout(holding);
    transport.onclose?.();
  }

  /** The newest progress that was over the budget. */
  let held: Uint8Array | Message | undefined;
  let holding: ReturnType<typeof setTimeout> | undefined;
  function hold(progress: Uint8Array | Message): void {
    held = progress;
    holding ??= setTimeout(release, PROGRESS_MS);
  }
  function release(): void {
    clearTimeout(holding);
    holding = undefined;
    const progress = held instanceof Uint8Array ? parsed(held) : held;
    held = undefined;
    if (progress) deliver(progress);
  }

  function garbage(what: string): undefined {
    options.onGarbage(what);
    if (!traffic.garbage()) transport.fail(`it sent ${traffic.dropped().garbage} lines that are no messages`);
  }

  /** A line as a message; what is none is counted. */
  function parsed(line: Uint8Array): Message | undefined {
    if (jsonDepth(line, MAX_DEPTH) > MAX_DEPTH) {
      const id = requestIdIn(line);
      const why = `a message nested deeper than ${MAX_DEPTH}`;
      // Whoever waits for it is told at once, instead of waiting for nothing.
      return id === undefined ? garbage(why) : { id, error: { code: -32603, message: `the server sent ${why}` } };
    }
    let message: unknown;
    try {
      message = options.parse(decoder.decode(line));
    } catch {
      return garbage("a line that is not JSON");
    }
    return isObject(message) ? message : garbage("a line that is not a JSON-RPC message");
  }

  function deliver(message: Message): void {
    if (!options.intercept(message)) transport.onmessage?.(message as JSONRPCMessage);
  }

  function take(line: Uint8Array): Promise<void> | void {
    // After its end the pipe is read on, so that the server is not kept from leaving by itself.
    if (line.length === 0 || reason !== undefined) return;
    if (performance.now() < traffic.floodsUntil) {
      const kind = unaskedBytes(line);
      if (kind && traffic.isSpent(kind)) return kind === "progress" ? hold(line.slice()) : undefined;
    }
    if (line.length > largeFrame) return options.onLargeFrame(isOwn(line) ? line : line.slice());
    if (line[0] !== OPEN_BRACE && !isSpace(line[0]!)) return garbage("a line that is not a JSON-RPC message");
    const message = parsed(line);
    if (!message) return;
    // An answer has no method.
    const kind = message.method === undefined ? undefined : unasked(message.method);
    if (kind && !traffic.admit(kind, line.length)) {
      if (kind === "progress") hold(message);
      // A request that got no answer would keep its server waiting for ever.
      else if (kind === "request") transport.write({ jsonrpc: "2.0", id: message.id, error: TOO_MANY });
      return;
    }
    // An answer ends its progress, so that has to go first; and no progress overtakes another.
    if (held && (!kind || kind === "progress")) release();
    deliver(message);
  }

  async function read(): Promise<void> {
    try {
      // Into our own buffer: half the time of the stream's default reader.
      const reader = process.stdout.getReader({ mode: "byob" });
      let buffer = new Uint8Array(CHUNK);
      let spent = 0;
      for (;;) {
        const { value, done } = await reader.read(buffer);
        if (done) break;
        let began = performance.now();
        let frames = 0;
        for (const line of split(value)) {
          if (line === TOO_LONG) {
            const why = options.onTooLong();
            if (why !== undefined) return transport.fail(why);
            continue;
          }
          const large = take(line);
          if (large) await large;
          if (++frames % FRAMES_A_LOOK > 0 || performance.now() - began + spent < SLICE_MS) continue;
          await nextTurn();
          began = performance.now();
          spent = 0;
        }
        buffer = new Uint8Array(value.buffer);
        spent += performance.now() - began;
        if (performance.now() < traffic.floodsUntil) {
          await new Promise((resolve) => setTimeout(resolve, FLOOD_PAUSE_MS));
        } else if (spent >= SLICE_MS) await nextTurn();
        else continue;
        spent = 0;
      }
    } catch {
      // The pipe broke: the process is gone or going.
    }
    // A server that closed its output but lives on is of no use to anyone.
    const stopping = process.stop(500);
    const { code, signal } = await process.exited;
    const words = await process.lastWords();
    end(
      `its process ended with ${signal ?? `code ${code}`}${words ? `; its last words: ${options.redact(words)}` : ""}`,
    );
    await stopping;
  }

  return transport;
}

/** True if a line was put together from several chunks, and so shares its memory with none of them. */
const isOwn = (line: Uint8Array) => line.byteLength === line.buffer.byteLength;

const OPEN_BRACE = 0x7b;
const isSpace = (byte: number) => byte === 0x20 || byte === 0x09 || byte === 0x0d;
