import { callTool, findTools, knownTools, toolResultOf, valueOf } from "../../call/mod.ts";
import { effectOf, judge } from "../../policy/mod.ts";
import type { Method } from "../context.ts";

const SHOWN_HITS = 10;

export const search: Method<"search"> = async ({ session }, { query, limit = SHOWN_HITS, server }) =>
  await findTools(await session, { query, limit, ...server && { server } });

export const tools: Method<"tools"> = async ({ session }, { server }) => {
  const open = await session;
  const { tools, notes } = await knownTools(open, server);
  const { policy } = open.config;
  const judged = tools.map((tool) => ({
    ...tool,
    policy: judge(policy, tool.id).kind,
    effect: effectOf(policy, tool),
  }));
  return { tools: judged, notes };
};

export const call: Method<"call"> = async ({ session, signal, ask, progress }, { tool, arguments: given = {} }) => {
  const human = ask ? { kind: "here", ask, approvals: "whole" } as const : { kind: "nobody" } as const;
  const caller = { signal, client: { progress }, human };
  const result = toolResultOf(await callTool(await session, { tool, arguments: given }, caller, "human"));
  return { result, value: valueOf(result) };
};
