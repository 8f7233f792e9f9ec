import { locateHome } from "../config/start.ts";
import { clientName } from "../model/start.ts";
import { ownProgram } from "../platform/start.ts";
import { connectEngine, MAX_CLIENT_FRAME, pipe, stdioChannel } from "../serve/start.ts";
import { system } from "../platform/start.ts";

/** `agentcards serve`: the MCP server on stdin and stdout, a thin pipe to the engine. */
export async function serve(name?: string): Promise<number> {
  const client = clientName(name);
  const env = system.env();
  const home = locateHome(env);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) system.addSignalListener(signal, () => system.exit(0));
  await pipe({
    client: stdioChannel(MAX_CLIENT_FRAME),
    connect: (connection) =>
      connectEngine({ home, kind: "mcp", cwd: system.cwd(), env, client, program: ownProgram(), connection }),
  });
  return 0;
}
