import { AgentCardsError, messageOf } from "../model/start.ts";
import { stdio } from "../platform/start.ts";
import net from "node:net";
import { Duplex } from "node:stream";

/** `agentcards serve --link SOCKET`: the MCP server of one agent task, as the engine that started its program holds it. */
export async function serveLink(path: string): Promise<number> {
  const socket = net.connect(path);
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", (cause) =>
      reject(
        new AgentCardsError("ENGINE_UNREACHABLE", `There is no agent task behind ${path}: ${messageOf(cause)}`, {
          hint: "The link lasts as long as its task.",
          cause,
        }),
      ));
  });
  const { readable, writable } = Duplex.toWeb(socket);
  const out = (readable as ReadableStream<Uint8Array<ArrayBuffer>>).pipeTo(stdio.stdout.writable);
  const into = stdio.stdin.readable.pipeTo(writable);
  // Whichever side ends, nobody is left to talk to.
  await Promise.race([out, into]).catch(() => {});
  return 0;
}
