import { referencesIn, type RunState, type ToolTask } from "../dag/mod.ts";
import { pathText } from "../graphrag/mod.ts";
import type { RanTask } from "./learning.ts";

/** What a run that is over tells about its tools: which came after which, what went from one into another, how it went. */
export function lessonsOf({ plan, tasks }: RunState): RanTask[] {
  const tools = new Map(plan.flatMap((task) => task.type === "tool" ? [[task.id, task] as const] : []));
  return [...tools.values()].flatMap((task) => {
    const status = tasks.get(task.id)?.status;
    if (status !== "success" && status !== "error") return [];
    const after = task.depends_on.flatMap((id) => tools.get(id)?.tool ?? []);
    return [{ tool: task.tool, ok: status === "success", after, flows: flowsInto(task, tools) }];
  });
}

function flowsInto(task: ToolTask, tools: ReadonlyMap<string, ToolTask>): RanTask["flows"] {
  return Object.entries(task.arguments).flatMap(([to, value]) =>
    referencesIn(value).flatMap(({ kind, id, path }) => {
      const from = kind === "output" ? tools.get(id)?.tool : undefined;
      return from === undefined ? [] : [{ from, path: pathText(path), to }];
    })
  );
}
