import { coalesce } from "../../model/start.ts";
import type { Conn } from "../../platform/start.ts";
import { type Channel, createLineReader, lineBytes } from "./channel.ts";

const CHUNK = 64 * 1024;

/** The client's side of a connection to the engine. Deno's own, since loading Node's sockets takes longer than `serve`. */
export function connChannel(conn: Conn, maxLineBytes: number): Channel {
  const lines = createLineReader(maxLineBytes);
  let sending: Promise<void> = Promise.resolve();

  const close = () => {
    try {
      conn.close();
    } catch {
      // It is closed already.
    }
    lines.end();
  };
  const sendAll = async (bytes: Uint8Array) => {
    for (let sent = 0; sent < bytes.length;) sent += await conn.write(bytes.subarray(sent));
  };
  let idle = true;
  const send = coalesce((bytes) => {
    // The usual case, nothing waiting: no promise stands between us and the system call.
    const work = idle ? sendAll(bytes) : sending.then(() => sendAll(bytes));
    idle = false;
    const turn = sending = work.then(() => {
      if (sending === turn) idle = true;
    }, close);
  });

  (async () => {
    const buffer = new Uint8Array(CHUNK);
    for (;;) {
      const size = await conn.read(buffer);
      if (size === null) break;
      // A copy: lines are written a moment later, when the next read may have filled the buffer again.
      lines.push(buffer.slice(0, size));
    }
  })().catch(() => {}).finally(close);

  return {
    first: lines.first,
    read: lines.read,
    write: (line) => send(lineBytes(line)),
    async end() {
      await Promise.resolve();
      await sending;
      close();
    },
    close,
  };
}
