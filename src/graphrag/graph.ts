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
  /** The graph for a page: every tool with its community and its rank, every edge with its reason. */
  drawing(): Drawing;
}

/** A graph to be drawn, at most `MOST_DRAWN` edges of it, those that were seen most. */
export interface Drawing {
  readonly nodes: readonly { readonly id: string; readonly group: number; readonly rank: number }[];
  readonly edges: readonly {
    readonly from: string;
    readonly to: string;
    readonly reason: string;
    readonly seen: number;
    readonly failed: number;
    readonly trust: number;
  }[];
}

const MOST_DRAWN = 2_000;

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
    drawing: () => drawingOf(graph, dependencies),
  };
}

function drawingOf(graph: Weighted, dependencies: readonly Dependency[]): Drawing {
  const groups: Record<string, number> = graph.size === 0 ? {} : louvain(graph);
  const edges = dependencies.filter(({ source, target }) => source !== target)
    .toSorted((a, b) => b.seen - a.seen).slice(0, MOST_DRAWN);
  const drawn = new Set(edges.flatMap(({ source, target }) => [source, target]));
  const ranks = ranksOf(graph);
  return {
    nodes: [...drawn].map((id) => ({ id, group: groups[id] ?? 0, rank: ranks.get(id) ?? 0 })),
    edges: edges.map((edge) => ({
      from: edge.source,
      to: edge.target,
      reason: edge.path === "" ? "came next" : edge.path,
      seen: edge.seen,
      failed: edge.failed,
      trust: reliability(edge),
    })),
  };
}

const DAMPING = 0.85;
const ROUNDS = 20;

/** The PageRank of every tool, by weights. */
function ranksOf(graph: Weighted): Map<string, number> {
  const count = graph.order || 1;
  const out = new Map<string, number>();
  graph.forEachEdge((_edge, { weight }, source) => void out.set(source, (out.get(source) ?? 0) + weight));
  let ranks = new Map(graph.nodes().map((tool) => [tool, 1 / count]));
  for (let round = 0; round < ROUNDS; round++) {
    const lost = graph.nodes().reduce((sum, tool) => sum + (out.has(tool) ? 0 : ranks.get(tool)!), 0);
    const next = new Map(graph.nodes().map((tool) => [tool, (1 - DAMPING + DAMPING * lost) / count]));
    graph.forEachEdge((_edge, { weight }, source, target) => {
      next.set(target, next.get(target)! + DAMPING * ranks.get(source)! * weight / out.get(source)!);
    });
    ranks = next;
  }
  return ranks;
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
