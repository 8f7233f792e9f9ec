import { oneLine } from "../model/mod.ts";
import graphology from "graphology";
import communities from "graphology-communities-louvain";
import { bidirectional } from "graphology-shortest-path";
import type { AbstractGraph, Attributes, GraphOptions } from "graphology-types";
import { type Dependency, reliability } from "./dependency.ts";

type Weighted = AbstractGraph<Attributes, { weight: number }>;
// Their types name modules where the runtime has the class and the function themselves.
const Graph = graphology as unknown as new (options: GraphOptions) => Weighted;
const louvain = communities as unknown as (graph: Weighted) => Record<string, number>;

/** One tool that stands beside another, and why. */
export interface Neighbour {
  readonly tool: string;
  readonly direction: "before" | "after";
  readonly reason: string;
  readonly seen: number;
  readonly failed: number;
  /** Its confidence, from 0 to 1. */
  readonly trust: number;
}

/** The dependencies as a graph that can be queried. */
export interface KnowledgeGraph {
  readonly tools: number;
  readonly edges: number;
  neighbours(tool: string): Neighbour[];
  /** The shortest way from one tool to another, both included. */
  path(from: string, to: string): string[] | undefined;
  /** The graph for Graphviz, tools that are used together in one box. */
  dot(): string;
}

export function buildGraph(dependencies: readonly Dependency[]): KnowledgeGraph {
  const graph = new Graph({ type: "directed", multi: false });
  for (const { source, target, seen, failed } of dependencies) {
    if (source === target) continue;
    for (const tool of [source, target]) graph.mergeNode(tool);
    graph.updateEdge(source, target, (known) => ({ weight: (known?.weight ?? 0) + Math.max(0.1, seen - failed) }));
  }
  return {
    tools: graph.order,
    edges: graph.size,
    neighbours: (tool) =>
      dependencies.filter(({ source, target }) => source !== target && (source === tool || target === tool))
        .map((edge): Neighbour => ({
          tool: edge.source === tool ? edge.target : edge.source,
          direction: edge.source === tool ? "after" : "before",
          reason: edge.path === "" ? "came next" : edge.path,
          seen: edge.seen,
          failed: edge.failed,
          trust: reliability(edge),
        })).sort((a, b) => b.trust - a.trust || b.seen - a.seen),
    path(from, to) {
      return graph.hasNode(from) && graph.hasNode(to) ? bidirectional(graph, from, to) ?? undefined : undefined;
    },
    dot: () => dotOf(graph),
  };
}

function dotOf(graph: Weighted): string {
  const quoted = (text: string) => `"${oneLine(text, 200).replace(/[\\"]/g, "\\$&")}"`;
  const groups: Record<string, number> = graph.size === 0 ? {} : louvain(graph);
  const byGroup = Object.groupBy(graph.nodes(), (tool) => String(groups[tool] ?? 0));
  const boxes = Object.entries(byGroup).map(([group, tools]) =>
    `  subgraph cluster_${group} {\n${tools!.map((tool) => `    ${quoted(tool)};\n`).join("")}  }\n`
  );
  const edges = graph.mapEdges((_edge, { weight }, source, target) =>
    `  ${quoted(source)} -> ${quoted(target)} [weight=${Math.ceil(weight)}, penwidth=${
      (1 + Math.log(weight + 1)).toFixed(1)
    }];\n`
  );
  return `digraph tools {\n  rankdir=LR;\n  node [shape=box];\n${boxes.join("")}${edges.join("")}}\n`;
}
