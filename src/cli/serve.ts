import { locateHome } from "../config/start.ts";
import { clientName } from "../model/start.ts";
import { ownProgram } from "../platform/start.ts";
import { connectEngine, createHookFrames, createSpool, MAX_CLIENT_FRAME, pipe, stdioChannel } from "../serve/start.ts";
import { system } from "../platform/start.ts";

/** `agentcards serve`: the MCP server on stdin and stdout, a thin pipe to the engine. */
export async function serve(name?: string): Promise<number> {
  const client = clientName(name);
  const env = system.env();
  const home = locateHome(env);
  const channel = stdioChannel(MAX_CLIENT_FRAME);
  const hooks = createHookFrames(channel.write, createSpool(home.hooks));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    system.addSignalListener(signal, () => {
      hooks.leave();
      system.exit(0);
    });
  }
  await pipe({
    client: channel,
    hooks,
    connect: (connection) =>
      connectEngine({ home, kind: "mcp", cwd: system.cwd(), env, client, program: ownProgram(), connection }),
  });
  return 0;
}
