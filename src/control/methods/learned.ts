import { knownTools, resolveTool } from "../../call/mod.ts";
import { kindOf } from "../../dag/mod.ts";
import type { Dependency } from "../../graphrag/mod.ts";
import { AgentCardsError, nearest, oneLine, splitToolId, toolId } from "../../model/mod.ts";
import { feeds, sketchOf } from "../../suggest/mod.ts";
import { type Template, templateOf } from "../../workflow/mod.ts";
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

export const templates: Method<"templates"> = ({ gateway }) => gateway.templates.all();

export const templateSave: Method<"template_save"> = async ({ gateway, session }, params) => {
  const { run, name, description = "", chosen = [] } = params;
  const { journal } = (await session).workflows;
  const row = await journal.find(run);
  if (!row) throw new AgentCardsError("RUN_UNKNOWN", `There is no run "${oneLine(run, 80)}"`);
  const { state } = await journal.open(row.id);
  if (state.status !== "completed") {
    throw new AgentCardsError("RUN_STATE", `${row.id} is ${state.status}; only a workflow that succeeded is saved`);
  }
  const about = description || row.name || describedBy(state.plan);
  const template = templateOf(name, {
    description: oneLine(about, 300),
    tasks: state.plan,
    ...state.options.pause && { pause: state.options.pause },
    chosen,
  });
  await gateway.templates.save(template);
  return template;
};

export const templateRemove: Method<"template_remove"> = async ({ gateway }, { name }) => {
  if (await gateway.templates.remove(name)) return { removed: name };
  const saved = (await gateway.templates.all()).map((one) => one.name);
  const near = nearest(name, saved);
  throw new AgentCardsError("TOOL_UNKNOWN", `There is no saved workflow "${oneLine(name, 80)}"`, {
    hint: near.length
      ? `Nearest: ${near.join(", ")}.`
      : saved.length
      ? `Saved are ${oneLine(saved.join(", "), 300)}.`
      : "None is saved.",
  });
};

/** The graph library is loaded by whoever looks at the graph, nobody else. */
async function graphOf(dependencies: readonly Dependency[]) {
  const { buildGraph }: typeof import("../../graphrag/graph.ts") = await import("../../graphrag/graph.ts" as string);
  return buildGraph(dependencies);
}

function describedBy(plan: Template["tasks"]): string {
  return plan.map((task) => splitToolId(kindOf(task).describe(task)).name.replace(/[_-]/g, " ")).join(
    ", then ",
  );
}
