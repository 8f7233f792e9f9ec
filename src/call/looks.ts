import type { Server } from "../mcp/mod.ts";
import { messageOf } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";

/** The looks of one session at the lists of its servers. */
export interface Looks {
  /** Looks where it is due; true if it did. */
  at(server: Server, signal: AbortSignal): Promise<boolean>;
}

/** A server in use is looked at this often. */
const LOOK_EVERY_MS = 60_000;

export function createLooks(): Looks {
  const looked = new WeakSet<Server>();
  return {
    async at(server, signal) {
      const listedAt = server.listedAt();
      const isFirst = listedAt === undefined || !looked.has(server);
      if (!isFirst && performance.now() - listedAt < LOOK_EVERY_MS) return false;
      try {
        await server.look(signal);
      } catch (error) {
        // Without a look nothing is known of this process. Later the pinned definitions go on to hold.
        if (isFirst || signal.aborted) throw error;
        log("warning", "look_failed", { server: server.name, reason: messageOf(error) });
      }
      looked.add(server);
      return true;
    },
  };
}
