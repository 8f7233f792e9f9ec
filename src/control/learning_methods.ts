import { knownTools, resolveTool } from "../call/mod.ts";
import { kindOf } from "../dag/mod.ts";
import type { Dependency, Neighbour } from "../graphrag/mod.ts";
import { AgentCardsError, nearest, oneLine, splitToolId, toolId } from "../model/mod.ts";
import { feeds, sketchOf } from "../suggest/mod.ts";
import { type Template, templateOf } from "../workflow/mod.ts";
import type { Method } from "./context.ts";

/** What is known of one tool, or of all. */
export interface GraphReport {
  readonly tools: number;
  readonly edges: number;
  readonly tool?: string;
  readonly neighbours?: readonly Neighbour[];
  /** What its schemas promise, whether it was seen or not. */
  readonly promised?: readonly { readonly tool: string; readonly path: string; readonly parameter: string }[];
  readonly path?: readonly string[] | null;
  readonly dot?: string;
}

const SHOWN_PROMISES = 20;

/** What the command line can ask about what was learned. */
export const LEARNING_METHODS: readonly [string, Method][] = [
  ["graph", async ({ gateway, session }, { tool, to, dot }): Promise<GraphReport> => {
    const open = await session;
    const { dependencies } = await gateway.learning.experienceOf(open);
    const graph = await graphOf(dependencies.all());
    const size = { tools: graph.tools, edges: graph.edges };
    if (dot === true) return { ...size, dot: graph.dot() };
    if (typeof tool !== "string") return size;
    const full = async (asked: string) => {
      const { server, name } = await resolveTool(open, asked);
      return toolId(server, name);
    };
    const id = await full(tool);
    if (typeof to === "string") return { ...size, tool: id, path: graph.path(id, await full(to)) ?? null };
    const { tools } = await knownTools(open);
    const own = tools.find((one) => one.id === id);
    const promised = own === undefined
      ? []
      : tools.filter((one) => one.id !== id).flatMap((other) =>
        feeds(sketchOf(own), sketchOf(other)).map((flow) => ({ tool: other.id, ...flow }))
      ).slice(0, SHOWN_PROMISES);
    return { ...size, tool: id, neighbours: graph.neighbours(id), promised };
  }],
  ["templates", ({ gateway }): Promise<readonly Template[]> => gateway.templates.all()],
  ["template_save", async ({ gateway, session }, { run, name, description, chosen }): Promise<Template> => {
    const { journal } = (await session).workflows;
    const row = await journal.find(String(run));
    if (!row) throw new AgentCardsError("RUN_UNKNOWN", `There is no run "${oneLine(String(run), 80)}"`);
    const { state } = await journal.open(row.id);
    if (state.status !== "completed") {
      throw new AgentCardsError("RUN_STATE", `${row.id} is ${state.status}; only a workflow that succeeded is saved`);
    }
    const about = typeof description === "string" && description !== ""
      ? description
      : row.name || describedBy(state.plan);
    const template = templateOf(String(name), {
      description: oneLine(about, 300),
      tasks: state.plan,
      ...state.options.pause && { pause: state.options.pause },
      chosen: Array.isArray(chosen) ? chosen.map(String) : [],
    });
    await gateway.templates.save(template);
    return template;
  }],
  ["template_remove", async ({ gateway }, { name }) => {
    if (await gateway.templates.remove(String(name))) return { removed: name };
    const saved = (await gateway.templates.all()).map((one) => one.name);
    const near = nearest(String(name), saved);
    throw new AgentCardsError("TOOL_UNKNOWN", `There is no saved workflow "${oneLine(String(name), 80)}"`, {
      hint: near.length
        ? `Nearest: ${near.join(", ")}.`
        : saved.length
        ? `Saved are ${oneLine(saved.join(", "), 300)}.`
        : "None is saved.",
    });
  }],
];

/** The graph library is loaded by whoever looks at the graph, nobody else. */
async function graphOf(dependencies: readonly Dependency[]) {
  const { buildGraph }: typeof import("../graphrag/graph.ts") = await import("../graphrag/graph.ts" as string);
  return buildGraph(dependencies);
}

function describedBy(plan: Template["tasks"]): string {
  return plan.map((task) => splitToolId(kindOf(task).describe(task)).name.replace(/[_-]/g, " ")).join(
    ", then ",
  );
}
