import { coalesce } from "../../model/start.ts";
import type net from "node:net";
import { type Channel, createLineReader, lineBytes } from "./channel.ts";

/** A reader that falls behind by more than this is cut off. */
const MAX_WAITING = 256 * 1024 * 1024;

/** A line of this size keeps the thread for a time that others notice. */
const LARGE = 128 * 1024;
/** After a large line a connection is not read for so many times as long as the line took, so that others get their turn. */
const REST_TIMES = 10;
const MAX_REST_MS = 1_000;

/**
 * The engine's side of a connection. The socket is Node's on purpose: a round trip through it takes half the time it
 * takes through `Conn`, whose reads and writes each cost a turn of the event loop.
 */
export function socketChannel(socket: net.Socket, maxLineBytes: number): Channel {
  const lines = createLineReader(maxLineBytes);
  let restTimes = REST_TIMES;
  socket.on("data", (chunk: Uint8Array) => {
    const began = performance.now();
    if (lines.push(chunk) < LARGE || restTimes === 0) return;
    socket.pause();
    setTimeout(() => socket.resume(), Math.min(MAX_REST_MS, restTimes * (performance.now() - began)));
  });
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
    neverRest: () => void (restTimes = 0),
  };
}
