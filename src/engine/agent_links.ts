import { openPastSuccess } from "../agents/mod.ts";
import { ensureSocketFolder, type Home, socketPath } from "../config/mod.ts";
import { ownProgram } from "../platform/mod.ts";
import { fs } from "../platform/start.ts";
import { type Channel, MAX_CLIENT_FRAME, socketChannel } from "../serve/start.ts";
import { serveClient } from "../serve/mod.ts";
import type { AgentLink, AgentServices, WorkSession } from "../workflow/mod.ts";
import { listen } from "./listen.ts";

/** The parts of an engine that agent tasks need. */
export function agentServices(home: Home, given: Pick<AgentServices, "parts" | "reports">): AgentServices {
  return { ...given, past: openPastSuccess(home.agents), openLink: agentLinks(home) };
}

/**
 * Opens the way by which the program of one agent task reaches its session: a socket of its own, with a name that nobody
 * else is told, for as long as the task runs.
 */
function agentLinks(home: Home): (session: WorkSession) => Promise<AgentLink> {
  return async (session) => {
    const main = await socketPath(home);
    await ensureSocketFolder(main, home);
    const name = `a-${crypto.getRandomValues(new Uint8Array(4)).toHex()}`;
    const path = `${main.slice(0, main.lastIndexOf("/"))}/${name}`;
    const channels = new Set<Channel>();
    const listener = await listen(path, (socket) => {
      const channel = socketChannel(socket, MAX_CLIENT_FRAME);
      channels.add(channel);
      void serveClient(channel, Promise.resolve(session)).finally(() => {
        channels.delete(channel);
        channel.close();
      });
    });
    const [command = "", ...args] = ownProgram();
    return {
      entry: { command, args: [...args, "serve", "--link", path] },
      async [Symbol.asyncDispose]() {
        listener.close();
        for (const channel of channels) channel.close();
        await fs.remove(path).catch(() => {});
      },
    };
  };
}
