/** That one tool came after another, or that what one gave went into another; how often, and how often it failed. */
export interface Dependency {
  readonly source: string;
  readonly target: string;
  /** `items[].id → issue_id`; empty for mere sequence. */
  readonly path: string;
  readonly seen: number;
  readonly failed: number;
}

/** The known dependencies between tools. */
export interface Dependencies {
  note(edge: Pick<Dependency, "source" | "target" | "path">, ok: boolean): Dependency;
  restore(edge: Dependency): void;
  all(): Dependency[];
}

/** The confidence of an edge: successes against all observations, and against chance. */
export function reliability({ seen, failed }: Pick<Dependency, "seen" | "failed">): number {
  return (seen - failed + 0.5) / (seen + 2);
}

/** The edges that were seen last are remembered. */
const MOST_EDGES = 20_000;

export function createDependencies(): Dependencies {
  const edges = new Map<string, Dependency>();
  const keyOf = ({ source, target, path }: Pick<Dependency, "source" | "target" | "path">) =>
    [source, target, path].join("\u001f");
  return {
    note(edge, ok) {
      const known = edges.get(keyOf(edge)) ?? { ...edge, seen: 0, failed: 0 };
      const next = { ...known, seen: known.seen + 1, failed: known.failed + Number(!ok) };
      edges.delete(keyOf(edge));
      edges.set(keyOf(edge), next);
      if (edges.size > MOST_EDGES) edges.delete(edges.keys().next().value!);
      return next;
    },
    restore: (edge) => void edges.set(keyOf(edge), edge),
    all: () => [...edges.values()],
  };
}
