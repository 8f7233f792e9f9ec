import { ensureHome, type Home, locateHome } from "../config/mod.ts";
import type { Gateway } from "../control/mod.ts";
import { takeLock } from "../db/mod.ts";
import { abandonHome, createGateway, homeInUse, watchPossession } from "../engine/mod.ts";
import { MAX_CLIENT_FRAME, serveClient, stdioChannel } from "../serve/mod.ts";
import { log } from "../telemetry/mod.ts";
import { system } from "../platform/start.ts";

/** `agentcards serve --standalone`: the engine in this process, for containers, CI and Windows. */
export async function serveStandalone(clientName?: string): Promise<number> {
  const home = locateHome();
  await ensureHome(home);
  await using lock = await takeLock(home.lock);
  if (!lock) throw await homeInUse(home);
  await using gateway = await createStandaloneGateway(home);
  const client = stdioChannel(MAX_CLIENT_FRAME);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) system.addSignalListener(signal, client.close);
  const session = gateway.openSession({ cwd: system.cwd(), env: system.env(), viewer: { client: clientName } });
  session.catch(() => {});
  void gateway.triggers.begin();
  await serveClient(client, session);
  return 0;
}

/** A gateway of this process, which leaves as an engine does when its home is replaced under it. */
export function createStandaloneGateway(home: Home): Promise<Gateway> {
  const report = (what: string, reason: string) => Promise.resolve(log("error", what, { reason }));
  const { isStillOurs } = watchPossession(home, (lost) => void abandonHome(lost, { report }));
  const gateway = createGateway(home, { logToStderr: true, isStillOurs });
  return gateway;
}
