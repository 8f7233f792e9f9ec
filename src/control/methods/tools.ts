import { callTool, findTools, knownTools, type Session, toolResultOf, valueOf } from "../../call/mod.ts";
import { effectOf, judge } from "../../policy/mod.ts";
import type { Method } from "../context.ts";

const SHOWN_HITS = 10;

export const search: Method<"search"> = async ({ session }, { query, limit = SHOWN_HITS, server }) =>
  await findTools(await session, { query, limit, ...server && { server } });

export const tools: Method<"tools"> = async ({ session }, { server }) => {
  const open = await session;
  await waitForFirstStarts(open, server);
  const { tools, notes } = await knownTools(open, server);
  const { policy, servers } = open.config;
  const judged = tools.map((tool) => ({
    ...tool,
    policy: judge(policy, tool.id).kind,
    effect: effectOf(policy, tool),
    clients: servers[tool.server]?.clients ?? null,
  }));
  return { tools: judged, notes };
};

/** A person waits for the first start of a server, however long it takes; an agent is told to try again. */
async function waitForFirstStarts(open: Session, only?: string): Promise<void> {
  const wanted = Object.values(open.config.servers)
    .filter(({ name, disabled }) => !disabled && (only === undefined || name === only));
  await Promise.all(wanted.map(async (entry) => {
    if (await open.known(entry.name) || await open.shared.catalogues.lastFailure(entry)) return;
    await open.server(entry.name).catalogue().catch(() => {});
  }));
}

export const call: Method<"call"> = async ({ session, signal, ask, progress }, { tool, arguments: given = {} }) => {
  const human = ask ? { kind: "here", ask, approvals: "whole" } as const : { kind: "nobody" } as const;
  const caller = { signal, client: { progress }, human };
  const result = toolResultOf(await callTool(await session, { tool, arguments: given }, caller, "human"));
  return { result, value: valueOf(result) };
};
