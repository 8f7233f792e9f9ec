import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { isObject, jsonDepth } from "../model/json.ts";
import { coalesce, createLineSplitter, TOO_LONG } from "../model/lines.ts";
import type { ServerProcess } from "./process.ts";

/** One message of a server, parsed but not believed. */
export type Message = Record<string, unknown>;

export interface StdioOptions {
  readonly maxFrameBytes: number;
  /** Above this a frame is parsed elsewhere. */
  readonly largeFrameBytes?: number;
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
const CHUNK = 64 * 1024;

export interface StdioTransport extends Transport {
  /** Writes one message without waiting for the pipe to drain. */
  write(message: unknown): void;
  /** Ends the connection at once because of what the server did. */
  fail(reason: string): void;
  /** Why the connection ended, once it has. */
  readonly reason: string | undefined;
}

/** An SDK transport over a process of ours, tolerant of garbage, bounded, and open to an interceptor. */
export function createStdioTransport(process: ServerProcess, options: StdioOptions): StdioTransport {
  const { largeFrameBytes: largeFrame = LARGE_FRAME } = options;
  const split = createLineSplitter(options.maxFrameBytes);
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const send = coalesce((bytes) => void process.stdin.write(bytes as Uint8Array<ArrayBuffer>).catch(() => {}));
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
    transport.onclose?.();
  }

  function take(line: Uint8Array): Promise<void> | void {
    if (line.length === 0) return;
    if (line.length > largeFrame) return options.onLargeFrame(line.slice());
    if (jsonDepth(line, MAX_DEPTH) > MAX_DEPTH) return options.onGarbage(`a message nested deeper than ${MAX_DEPTH}`);
    let message: unknown;
    try {
      message = options.parse(decoder.decode(line));
    } catch {
      return options.onGarbage("a line that is not JSON");
    }
    if (!isObject(message)) return options.onGarbage("a line that is not a JSON-RPC message");
    if (!options.intercept(message)) transport.onmessage?.(message as JSONRPCMessage);
  }

  async function read(): Promise<void> {
    try {
      // Into our own buffer: half the time of the stream's default reader.
      const reader = process.stdout.getReader({ mode: "byob" });
      let buffer = new Uint8Array(CHUNK);
      for (;;) {
        const { value, done } = await reader.read(buffer);
        if (done) break;
        for (const line of split(value)) {
          if (line === TOO_LONG) {
            return transport.fail(`it sent a message larger than ${options.maxFrameBytes} bytes`);
          }
          const large = take(line);
          if (large) await large;
        }
        buffer = new Uint8Array(value.buffer);
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
