import { ensureHome, locateHome } from "../config/home.ts";
import { lockHolder, takeLock } from "../db/lock.ts";
import { stdioChannel } from "../gateway/channel.ts";
import { serveClient } from "../gateway/front.ts";
import { createGateway } from "../gateway/gateway.ts";
import { MAX_CLIENT_FRAME } from "../gateway/hello.ts";
import { AgentCardsError } from "../model/errors.ts";

/** `agentcards serve --standalone`: the engine in this process, for containers, CI and Windows. */
export async function serveStandalone(): Promise<number> {
  const home = locateHome();
  await ensureHome(home);
  await using lock = await takeLock(home.lock);
  if (!lock) {
    throw new AgentCardsError(
      "ENGINE_BUSY",
      `An engine (process ${await lockHolder(home.lock)}) already uses ${home.dir}`,
      {
        hint: "Leave out --standalone to share it, or set AGENTCARDS_HOME to another folder.",
      },
    );
  }
  await using gateway = await createGateway(home, { logToStderr: true });
  const client = stdioChannel(MAX_CLIENT_FRAME);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) Deno.addSignalListener(signal, client.close);
  const session = gateway.openSession({ cwd: Deno.cwd(), env: Deno.env.toObject() });
  session.catch(() => {});
  await serveClient(client, session);
  return 0;
}
