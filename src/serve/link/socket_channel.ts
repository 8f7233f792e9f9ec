import { coalesce } from "../../model/start.ts";
import type net from "node:net";
import { createLineReader } from "./line_reader.ts";
import { type Channel, lineBytes } from "./channel.ts";

/** A reader that falls behind by more than this is cut off. */
const MAX_WAITING = 256 * 1024 * 1024;

/**
 * The engine's side of a connection. The socket is Node's on purpose: a round trip through it takes half the time it
 * takes through `Conn`, whose reads and writes each cost a turn of the event loop.
 */
export function socketChannel(socket: net.Socket, maxLineBytes: number): Channel {
  const lines = createLineReader(maxLineBytes);
  socket.on("data", (chunk: Uint8Array) => lines.push(chunk));
  socket.on("error", () => {});
  socket.on("close", () => lines.end());
  const send = coalesce((bytes) => {
    if (!socket.destroyed) socket.write(bytes);
    if (socket.writableLength > MAX_WAITING) socket.destroy();
  });
  return {
    first: lines.first,
    read: lines.read,
    write: (line) => send(lineBytes(line)),
    async end() {
      // What was written in this turn is on its way with the next.
      await Promise.resolve();
      await new Promise<void>((resolve) => socket.destroyed ? resolve() : socket.end(resolve));
    },
    close: () => void socket.destroy(),
  };
}
