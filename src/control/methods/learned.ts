import { knownTools, resolveTool } from "../../call/mod.ts";
import type { Dependency } from "../../graphrag/mod.ts";
import { toolId } from "../../model/mod.ts";
import { feeds, sketchOf } from "../../suggest/mod.ts";
import type { Method } from "../context.ts";

const SHOWN_PROMISES = 20;

export const graph: Method<"graph"> = async ({ gateway, session }, { tool, to, dot }) => {
  const open = await session;
  const { dependencies } = await gateway.learning.experienceOf(open);
  const known = await graphOf(dependencies.all());
  const size = { tools: known.tools, edges: known.edges };
  if (dot) return { ...size, dot: known.dot() };
  if (tool === undefined) return size;
  const full = async (asked: string) => {
    const { server, name } = await resolveTool(open, asked);
    return toolId(server, name);
  };
  const id = await full(tool);
  if (to !== undefined) return { ...size, tool: id, path: known.path(id, await full(to)) ?? null };
  const { tools } = await knownTools(open);
  const own = tools.find((one) => one.id === id);
  const promised = own === undefined
    ? []
    : tools.filter((one) => one.id !== id).flatMap((other) =>
      feeds(sketchOf(own), sketchOf(other)).map((flow) => ({ tool: other.id, ...flow }))
    ).slice(0, SHOWN_PROMISES);
  return { ...size, tool: id, neighbours: known.neighbours(id), promised };
};

export const graphAll: Method<"graph_all"> = async ({ gateway, session }) => {
  const { dependencies } = await gateway.learning.experienceOf(await session);
  return (await graphOf(dependencies.all())).drawing();
};

/** The graph library is loaded by whoever looks at the graph, nobody else. */
async function graphOf(dependencies: readonly Dependency[]) {
  const { buildGraph }: typeof import("../../graphrag/graph.ts") = await import("../../graphrag/graph.ts" as string);
  return buildGraph(dependencies);
}
