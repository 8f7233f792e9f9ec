import { system } from "../platform/start.ts";
import { locateHome } from "../config/home.ts";
import { stdioChannel } from "../serve/link/stdio_channel.ts";
import { connectEngine } from "../serve/link/engine_client.ts";
import { MAX_CLIENT_FRAME } from "../serve/link/handshake.ts";
import { pipe } from "../serve/link/pipe.ts";
import { ownProgram } from "../platform/own_program.ts";

/** `agentcards serve`: the MCP server on stdin and stdout, a thin pipe to the engine. */
export async function serve(): Promise<number> {
  const env = system.env();
  const home = locateHome(env);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) system.addSignalListener(signal, () => system.exit(0));
  await pipe({
    client: stdioChannel(MAX_CLIENT_FRAME),
    connect: (connection) =>
      connectEngine({ home, kind: "mcp", cwd: system.cwd(), env, program: ownProgram(), connection }),
  });
  return 0;
}
