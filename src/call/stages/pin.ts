import type { Server } from "../../mcp/mod.ts";
import {
  AgentCardsError,
  type Call,
  messageOf,
  oneLine,
  OWN_SERVER,
  toolId,
  WORKFLOW_SERVER,
} from "../../model/mod.ts";
import { log } from "../../telemetry/mod.ts";
import type { PinKind } from "../../policy/mod.ts";
import type { Session } from "../session.ts";
import type { Stage } from "./stage.ts";

type Pinned = Pick<Session, "withheld" | "lookAt">;

/** Refuses what is withheld: a definition that changed, and that nobody accepted. */
export function pin(session: Pinned): Stage {
  return async (call, next) => {
    if (isOurs(call)) return await next(call);
    const kind = KINDS[call.method];
    if (kind) refuseWithheld(session, call, kind);
    return await next(call);
  };
}

/**
 * Compares a server's lists with their pins before its first call of a session, and later once a minute. It is the last
 * stage before the records are written: a person may have been asked for a long time.
 */
export function look(session: Pinned): Stage {
  return async (call, next) => {
    const kind = KINDS[call.method];
    if (isOurs(call) || !kind) return await next(call);
    const looking = session.lookAt(call.address.server, call.signal);
    // No turn is lost where none is due.
    if (looking) {
      const from = performance.now();
      const hasLooked = await looking;
      // The first look starts the server.
      call.onStarted?.(performance.now() - from);
      if (hasLooked) refuseWithheld(session, call, kind);
    }
    return await next(call);
  };
}

const KINDS: Readonly<Record<string, PinKind>> = {
  "tools/call": "tool",
  "prompts/get": "prompt",
  "resources/read": "resource",
};

function isOurs({ address: { server }, deliver }: Call): boolean {
  return deliver !== undefined || server === OWN_SERVER || server === WORKFLOW_SERVER;
}

function refuseWithheld(session: Pinned, { address: { server, name } }: Call, kind: PinKind): void {
  const why = session.withheld(server, kind, name);
  if (why !== undefined) throw withheldError(server, name, why);
}

/** The error about an entry that waits for a person's review. */
export function withheldError(server: string, name: string, why: string): AgentCardsError {
  return new AgentCardsError(
    "TOOL_WITHHELD",
    `${oneLine(toolId(server, name), 200)} is withheld: ${oneLine(why, 300)}`,
    {
      hint: `A person decides about it: agentcards review ${server}`,
    },
  );
}

/** The looks of one session at the lists of its servers. */
export interface Looks {
  /** Looks where it is due, and tells whether it did; undefined where none is due. */
  at(server: Server, signal: AbortSignal): Promise<boolean> | undefined;
}

/** A server in use is looked at this often. */
const LOOK_EVERY_MS = 60_000;

export function createLooks(): Looks {
  const looked = new WeakSet<Server>();
  async function look(server: Server, signal: AbortSignal, isFirst: boolean): Promise<boolean> {
    try {
      await server.look(signal);
    } catch (error) {
      // Without a look nothing is known of this process. Later the pinned definitions go on to hold.
      if (isFirst || signal.aborted) throw error;
      log("warning", "look_failed", { server: server.name, reason: messageOf(error) });
    }
    looked.add(server);
    return true;
  }
  return {
    at(server, signal) {
      const listedAt = server.listedAt();
      const isFirst = listedAt === undefined || !looked.has(server);
      const isDue = isFirst || performance.now() - listedAt >= LOOK_EVERY_MS;
      return isDue ? look(server, signal, isFirst) : undefined;
    },
  };
}
