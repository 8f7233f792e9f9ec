import { coalesce } from "../../model/start.ts";
import { fs, stdio, system } from "../../platform/start.ts";
import { type Channel, createLineReader, lineBytes } from "./channel.ts";

/** A channel over this process's own stdin and stdout. */
export function stdioChannel(maxLineBytes: number): Channel {
  const lines = createLineReader(maxLineBytes);
  const send = coalesce(writeStdout);
  readStdin(lines.push).finally(lines.end);
  return {
    first: lines.first,
    read: lines.read,
    write: (line) => send(lineBytes(line)),
    end: () => Promise.resolve(),
    close: lines.end,
  };
}

/** Written at once: a promise in between would cost every answer a turn of the event loop. */
function writeStdout(bytes: Uint8Array): void {
  for (let sent = 0; sent < bytes.length;) {
    try {
      sent += stdio.stdout.writeSync(bytes.subarray(sent));
    } catch (error) {
      // The client closed its end: nobody is left to serve.
      if (!(fs.isWouldBlock(error))) system.exit(0);
      // Full for the moment, which happens where stdin and stdout are one socket.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

const CHUNK = 64 * 1024;
/** By then the client has its list of tools. */
const HAND_OVER_AFTER_MS = 300;

/**
 * Deno reads stdin on a helper thread; as one of Node's sockets it is read where we are, in half the time. Loading those
 * takes as long as everything else `serve` does at start, so the first frames come the slow way.
 */
async function readStdin(push: (chunk: Uint8Array) => void): Promise<void> {
  let net: typeof import("node:net") | undefined;
  const loading = setTimeout(async () => net = await import("node:net"), HAND_OVER_AFTER_MS);
  const buffer = new Uint8Array(CHUNK);
  try {
    while (!net) {
      const size = await stdio.stdin.read(buffer);
      if (size === null) return;
      push(buffer.slice(0, size));
    }
  } finally {
    clearTimeout(loading);
  }
  await readSocket(net, push);
}

async function readSocket(net: typeof import("node:net"), push: (chunk: Uint8Array) => void): Promise<void> {
  let socket: import("node:net").Socket;
  try {
    socket = new net.Socket({ fd: 0, readable: true, writable: false });
  } catch {
    // A file or a terminal, not a pipe.
    for await (const chunk of stdio.stdin.readable) push(chunk);
    return;
  }
  await new Promise<void>((resolve) => {
    socket.on("data", push);
    socket.on("error", () => resolve());
    socket.on("close", () => resolve());
    socket.on("end", () => resolve());
  });
}
