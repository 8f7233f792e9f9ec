import { AgentCardsError, type Call, oneLine, OWN_SERVER, toolId, WORKFLOW_SERVER } from "../../model/mod.ts";
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
    if (await session.lookAt(call.address.server, call.signal)) refuseWithheld(session, call, kind);
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
