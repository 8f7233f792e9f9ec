import { warmSearch } from "../call/mod.ts";
import { describe } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";
import type { WorkSession } from "../workflow/mod.ts";
import { hasOffers } from "./exposure.ts";
import { keepShown, type Shown } from "./handshake_cache.ts";
import { type ClientSideOptions, createClientSide } from "./notifications.ts";
import { type CallsOptions, createCalls } from "./requests.ts";

export type ClientWorkOptions = CallsOptions & Omit<ClientSideOptions, "calls">;

/**
 * The part of a client's connection that needs the rest of the house: calls, lists, runs. It is loaded after the client
 * has its list of tools, or when there is something to do.
 */
export type ClientWork = ReturnType<typeof createClientWork>;

export function createClientWork(options: ClientWorkOptions) {
  const { session, isCrowd } = options;
  const calls = createCalls(options);
  return {
    calls,
    side: createClientSide({ ...options, calls }),
    log,
    /** The parts of the session that the client is shown; the next client in this folder need not wait for it. */
    async shown(): Promise<Shown> {
      const open = await session;
      // One that stays for long is told at its beginning of what may come later.
      const servers = open.status().filter(({ config }) => !config.disabled).map(({ config }) => config.name);
      if (isCrowd) return { ...open.config.expose, servers };
      const now = { ...open.config.expose, servers, resources: await hasOffers(open) };
      keepShown(open.shared.home, open, now)
        .catch((error) => log("debug", "handshake_cache_not_written", { reason: describe(error) }));
      return now;
    },
    /** Takes up the runs that a crash interrupted in this folder. */
    adopt: () => quietly("auto_resume_failed", session, (open) => open.workflows.adopt(open)),
    /** Loads the model that searching needs. */
    warm: () => quietly("search_warm_up_failed", session, warmSearch),
  };
}

async function quietly(
  what: string,
  session: Promise<WorkSession>,
  work: (open: WorkSession) => Promise<unknown>,
): Promise<void> {
  try {
    await work(await session);
  } catch (error) {
    log("debug", what, { reason: describe(error) });
  }
}
