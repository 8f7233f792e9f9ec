import {
  type Address,
  AGENT_TOOLS,
  AgentCardsError,
  cut,
  nearest,
  oneLine,
  OWN_SERVER,
  splitToolId,
  type Tool,
  WORKFLOW_SERVER,
} from "../model/mod.ts";
import type { Session } from "./session.ts";
import { withheldError } from "./stages/pin.ts";

/** The server and tool that a name means: `server:tool`, or a bare name that only one server has. */
export async function resolveTool(session: Session, asked: string, options: Resolving = {}): Promise<Address> {
  const known = session.tool(asked);
  return known ? { server: known.server, name: known.name } : await resolveUnknown(session, asked, options);
}

interface Resolving {
  /** False where the error about an unknown tool names no tools that come near: finding them takes time. */
  readonly isHinted?: boolean;
}

async function resolveUnknown(
  session: Session,
  asked: string,
  { isHinted = true }: Resolving,
): Promise<Address> {
  const { server, name } = splitToolId(asked);
  if (server === undefined) return await resolveBareName(session, name, isHinted);
  if (server === OWN_SERVER) return { server, name };
  if (server === WORKFLOW_SERVER) return { server, name: (await session.shared.saved.find(session, name)).name };
  const live = session.server(server);
  const known = await session.known(server);
  if (known?.tools.some((tool) => tool.name === name)) return { server, name };
  // Withheld until now: where a look is due, the server may list the accepted definition again.
  if (session.withheld(server, "tool", name) !== undefined) await session.lookAt(server, new AbortController().signal);
  // Not known, or not known any more: the server itself has the last word.
  const { tools, dropped } = await live.catalogue();
  const why = session.withheld(server, "tool", name);
  if (why !== undefined) throw withheldError(server, name, why);
  if (tools.some((tool) => tool.name === name)) return { server, name };
  const unusable = dropped.find((note) => note.tool === name);
  if (unusable) throw new AgentCardsError("TOOL_UNKNOWN", `${asked} cannot be used: ${unusable.why}`);
  throw unknownTool(asked, isHinted ? tools : []);
}

/** A bare name means a tool only where every server's list is known and one of them has it; nothing is guessed. */
async function resolveBareName(session: Session, name: string, isHinted: boolean): Promise<Address> {
  if (AGENT_TOOLS.has(name)) {
    throw new AgentCardsError("TOOL_UNKNOWN", `${name} is a tool of its own: call it directly, not by call_tool`);
  }
  const enabled = session.status().map(({ config }) => config).filter(({ disabled }) => !disabled);
  const known = await Promise.all(enabled.map((config) => session.known(config.name)));
  const tools = known.flatMap((catalogue) => catalogue?.tools ?? []);
  const matches = tools.filter((tool) => tool.name === name).map(({ id }) => id);
  const unread = enabled.filter((_, i) => !known[i]).map((config) => config.name);
  if (matches.length === 1 && unread.length === 0) return splitToolId(matches[0]!) as Address;
  if (matches.length > 1) {
    throw new AgentCardsError("TOOL_AMBIGUOUS", `"${name}" is a tool of several servers: ${matches.join(", ")}`, {
      hint: "Call it by one of these ids.",
    });
  }
  if (unread.length === 0) throw unknownTool(name, isHinted ? tools : []);
  const servers = cut(unread.join(", "), 200);
  const text = `"${oneLine(name, 200)}" may be a tool of several servers: those of ${servers} are not known yet`;
  throw new AgentCardsError("TOOL_AMBIGUOUS", text, {
    hint: matches.length > 0
      ? `Call it by its id: ${matches.join(", ")}.`
      : `Call it by its id, ${idMeant(name, enabled.map((config) => config.name)) ?? "SERVER:TOOL"}.`,
  });
}

function unknownTool(asked: string, tools: readonly Tool[]): AgentCardsError {
  const { name } = splitToolId(asked);
  const byName = new Map(tools.map((tool) => [tool.name, tool.id]));
  const near = nearest(name, byName.keys()).map((match) => byName.get(match)!);
  return new AgentCardsError("TOOL_UNKNOWN", `There is no tool "${oneLine(asked, 200)}"`, {
    hint: near.length ? `Nearest: ${near.join(", ")}.` : "Search to find what there is.",
  });
}

/** The id that a name with another sign than a colon behind its server means, such as `files.read`. */
function idMeant(name: string, servers: readonly string[]): string | undefined {
  const server = servers.find((one) => name.startsWith(one) && /^(?:\.|\/|__)\w/.test(name.slice(one.length)));
  return server && `${server}:${oneLine(name.slice(server.length).replace(/^(?:\.|\/|__)/, ""), 100)}`;
}
