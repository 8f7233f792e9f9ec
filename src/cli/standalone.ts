import { ensureHome, locateHome } from "../config/home.ts";
import { takeLock } from "../db/lock.ts";
import { stdioChannel } from "../gateway/stdio_channel.ts";
import { serveClient } from "../gateway/front.ts";
import { homeInUse } from "../gateway/embed.ts";
import { createGateway } from "../gateway/gateway.ts";
import { MAX_CLIENT_FRAME } from "../gateway/hello.ts";

/** `agentcards serve --standalone`: the engine in this process, for containers, CI and Windows. */
export async function serveStandalone(): Promise<number> {
  const home = locateHome();
  await ensureHome(home);
  await using lock = await takeLock(home.lock);
  if (!lock) throw await homeInUse(home);
  await using gateway = await createGateway(home, { logToStderr: true });
  const client = stdioChannel(MAX_CLIENT_FRAME);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) Deno.addSignalListener(signal, client.close);
  const session = gateway.openSession({ cwd: Deno.cwd(), env: Deno.env.toObject() });
  session.catch(() => {});
  await serveClient(client, session);
  return 0;
}
