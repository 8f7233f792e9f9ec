import net from "node:net";
import { coalesce, createLineSplitter, TOO_LONG } from "../model/lines.ts";

export type Line = Uint8Array | typeof TOO_LONG;

/**
 * Lines in, lines out. Sockets are Node's on purpose: a round trip through them takes half the time it takes through
 * `Deno.Conn`, whose reads and writes each cost a turn of the event loop.
 */
export interface Channel {
  /** The first line alone, for greetings; undefined when the other side went without a word. */
  first(): Promise<Line | undefined>;
  /** Hands every further line to `onLine` and resolves when the other side is gone. A line is valid until the next. */
  read(onLine: (line: Line) => void): Promise<void>;
  /** Writes one line. */
  write(line: string | Uint8Array): void;
  /** Closes after everything written has gone out. */
  end(): Promise<void>;
  close(): void;
}

/** A reader that falls behind by more than this is cut off. */
const MAX_WAITING = 256 * 1024 * 1024;
const NEWLINE = 0x0a;

/** A channel over a socket. */
export function socketChannel(socket: net.Socket, maxLineBytes: number): Channel {
  const lines = createLineReader(maxLineBytes);
  socket.on("data", (chunk: Uint8Array) => lines.push(chunk));
  socket.on("error", () => {});
  socket.on("close", () => lines.end());
  const encoder = new TextEncoder();
  const send = coalesce((bytes) => {
    if (!socket.destroyed) socket.write(bytes);
    if (socket.writableLength > MAX_WAITING) socket.destroy();
  });
  return {
    first: lines.first,
    read: lines.read,
    write: (line) => send(typeof line === "string" ? encoder.encode(line + "\n") : withNewline(line)),
    async end() {
      // What was written in this turn is on its way with the next.
      await Promise.resolve();
      await new Promise<void>((resolve) => socket.destroyed ? resolve() : socket.end(resolve));
    },
    close: () => void socket.destroy(),
  };
}

/** A channel over this process's own stdin and stdout. */
export function stdioChannel(maxLineBytes: number): Channel {
  const lines = createLineReader(maxLineBytes);
  readStdin(lines.push).finally(lines.end);
  const encoder = new TextEncoder();
  const send = coalesce(writeStdout);
  return {
    first: lines.first,
    read: lines.read,
    write: (line) => send(typeof line === "string" ? encoder.encode(line + "\n") : withNewline(line)),
    end: () => Promise.resolve(),
    close: lines.end,
  };
}

/** Written at once: a promise in between would cost every answer a turn of the event loop. */
function writeStdout(bytes: Uint8Array): void {
  try {
    for (let sent = 0; sent < bytes.length;) sent += Deno.stdout.writeSync(bytes.subarray(sent));
  } catch {
    // The client closed its end: nobody is left to serve.
    Deno.exit(0);
  }
}

/** A line that was cut out of a stream has its newline behind it already; any other is copied. */
function withNewline(line: Uint8Array): Uint8Array {
  if (line.byteOffset + line.length < line.buffer.byteLength) {
    const longer = new Uint8Array(line.buffer, line.byteOffset, line.length + 1);
    if (longer[line.length] === NEWLINE) return longer;
  }
  const bytes = new Uint8Array(line.length + 1);
  bytes.set(line);
  bytes[line.length] = NEWLINE;
  return bytes;
}

/** Deno reads stdin on a helper thread; as a socket it is read where we are, in half the time. Files are not sockets. */
async function readStdin(push: (chunk: Uint8Array) => void): Promise<void> {
  let socket: net.Socket;
  try {
    socket = new net.Socket({ fd: 0, readable: true, writable: false });
  } catch {
    for await (const chunk of Deno.stdin.readable) push(chunk);
    return;
  }
  await new Promise<void>((resolve) => {
    socket.on("data", push);
    socket.on("error", () => resolve());
    socket.on("close", () => resolve());
    socket.on("end", () => resolve());
  });
}

/** Lines that come before anybody reads them wait, copied, since their bytes are only valid for a moment. */
function createLineReader(maxLineBytes: number) {
  const split = createLineSplitter(maxLineBytes);
  const early: Line[] = [];
  const ended = Promise.withResolvers<void>();
  let isEnded = false;
  let onLine: ((line: Line) => void) | undefined;
  let wake: (() => void) | undefined;
  return {
    push(chunk: Uint8Array): void {
      for (const line of split(chunk)) {
        if (onLine) onLine(line);
        else early.push(line === TOO_LONG ? line : line.slice());
      }
      wake?.();
    },
    end(): void {
      isEnded = true;
      wake?.();
      ended.resolve();
    },
    async first(): Promise<Line | undefined> {
      if (early.length === 0 && !isEnded) await new Promise<void>((resolve) => wake = resolve);
      return early.shift();
    },
    read(handler: (line: Line) => void): Promise<void> {
      for (const line of early.splice(0)) handler(line);
      onLine = handler;
      return ended.promise;
    },
  };
}
