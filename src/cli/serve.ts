import { locateHome } from "../config/home.ts";
import { connectEngine } from "../gateway/engine_client.ts";
import { pipe } from "../gateway/pipe.ts";
import { ownProgram } from "./own_program.ts";

/** `agentcards serve`: the MCP server on stdin and stdout, a thin pipe to the engine. */
export async function serve(): Promise<number> {
  const env = Deno.env.toObject();
  const home = locateHome(env);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) Deno.addSignalListener(signal, () => Deno.exit(0));
  await pipe({
    connect: () => connectEngine({ home, kind: "mcp", cwd: Deno.cwd(), env, program: ownProgram() }),
    input: Deno.stdin,
    output: writeAll,
  });
  return 0;
}

/** Written at once: a promise in between would cost every answer a turn of the event loop. */
function writeAll(bytes: Uint8Array): void {
  try {
    for (let sent = 0; sent < bytes.length;) sent += Deno.stdout.writeSync(bytes.subarray(sent));
  } catch {
    // The client closed its end: nobody is left to serve.
    Deno.exit(0);
  }
}
