import type { Session } from "../../call/mod.ts";
import { matchesPattern, splitToolId, type Tool } from "../../model/mod.ts";
import { maySpeculate } from "../../policy/mod.ts";

/** The tool of a read that may be made unasked now; undefined where it may not. */
export function toolAhead(session: Session, id: string): Tool | undefined {
  const { server = "", name } = splitToolId(id);
  const { policy, servers } = session.config;
  const tool = session.inMemory(server, name);
  const entry = Object.hasOwn(servers, server) ? servers[server]! : undefined;
  if (!tool || !entry || !maySpeculate(policy, tool) || !session.shared.wasUsed(id)) return undefined;
  if (session.withheld(server, "tool", name) !== undefined || !isRunning(session, server)) return undefined;
  const isNamed = policy.speculate.allow.some((pattern) => matchesPattern(pattern, id));
  return isNamed || isClosedWorld(tool, "url" in entry && entry.url !== undefined) && isBelieved(session, server)
    ? tool
    : undefined;
}

/** No server is started for a call that nobody has asked for. */
function isRunning(session: Session, name: string): boolean {
  return session.status().find(({ config }) => config.name === name)?.server?.status().state === "running";
}

/** An unasked page or mail is an unasked instruction: a remote server must say that it has none. */
function isClosedWorld({ annotations }: Tool, isRemote: boolean): boolean {
  return isRemote ? annotations?.openWorldHint === false : annotations?.openWorldHint !== true;
}

/** If the user names trusted servers, the others are foreign. */
function isBelieved({ config: { policy: { trusted } } }: Session, server: string): boolean {
  return trusted.length === 0 || trusted.includes(server);
}
