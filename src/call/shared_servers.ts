import { canonicalJson } from "../model/mod.ts";
import type { PlacedServer } from "../config/mod.ts";
import type { Server } from "../mcp/mod.ts";
import type { Session, Shared } from "./session.ts";

/** The key by which sessions share one process: the program, with the same variables, in the same folder. */
export function keyOfShared(placed: PlacedServer): string {
  return canonicalJson(placed);
}

/**
 * The same for a process that outlives a command: whatever its answers and questions depend on. Without that, one command
 * would be told what was cut or hidden for another.
 */
export function keyOfKept(placed: PlacedServer, session: Session, env: Readonly<Record<string, string>>): string {
  const { limits, policy, expose } = session.config;
  const { capabilities = {} } = session.client;
  return canonicalJson([placed, session.cwd, env, capabilities, limits, policy.pii, policy.pii_patterns, expose]);
}

/** Ends the processes of a server that no session uses any more, once their calls have ended. Gives those that ran. */
export function retireUnused({ sharedServers }: Shared, name?: string): Server[] {
  const ran: Server[] = [];
  for (const [key, { server, listeners }] of sharedServers) {
    if (listeners.size > 0 || name !== undefined && server.name !== name) continue;
    const isRunning = server.status().state === "running";
    // One that runs and that nobody names stops by itself after a while.
    if (name === undefined && isRunning) continue;
    sharedServers.delete(key);
    if (isRunning) ran.push(server);
    server.retire();
  }
  return ran;
}
