import { closeOnExec } from "../serve/start.ts";
import { system } from "../platform/start.ts";
import net from "node:net";

/** Listens on a socket that only its owner may open, from the first moment on, and that no child has. */
export async function listen(path: string, onConnection: (socket: net.Socket) => void): Promise<net.Server> {
  const server = net.createServer(onConnection);
  const mask = system.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
  } finally {
    system.umask(mask);
  }
  closeOnExec((server as unknown as { _handle: { fd: number } })._handle.fd);
  return server;
}
