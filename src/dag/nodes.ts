import { type Effect, WORKFLOW_SERVER } from "../model/mod.ts";
import { openEffects } from "./code_call.ts";
import { kindOf } from "./kinds/all.ts";
import type { Ready } from "./ready_queue.ts";
import type { RunPorts } from "./run_port.ts";
import type { RunState, TaskState } from "./run_state.ts";
import type { Plan, Task } from "./task.ts";

/** A task with what the scheduler counts about it. */
export interface Node extends Ready {
  readonly id: string;
  readonly task: Task;
  readonly effect: Effect;
  layer: number;
  height: number;
  /** The number of tasks that it still waits for. */
  missing: number;
  isSettled: boolean;
  readonly dependents: Node[];
}

/** The tasks of a run by what they wait for. A task in doubt counts as not settled: nobody knows what it gave. */
export function createNodes(plan: Plan, state: RunState, ports: Pick<RunPorts, "effectOf" | "serverOf">) {
  const nodes = new Map<string, Node>();

  /** Puts in the tasks that are not there yet; returns those that wait for nothing. */
  function grow(bigger: Plan): Node[] {
    const added = bigger.tasks.flatMap(({ task, layer, height }, place) => {
      const known = nodes.get(task.id);
      if (known) {
        Object.assign(known, { layer, height });
        return [];
      }
      const node: Node = {
        id: task.id,
        task,
        place,
        layer,
        height,
        effect: ports.effectOf(task),
        server: ports.serverOf(task),
        isShared: !kindOf(task).journalsCalls && ports.serverOf(task) !== WORKFLOW_SERVER,
        missing: 0,
        isSettled: isSettled(state.tasks.get(task.id)),
        dependents: [],
      };
      nodes.set(task.id, node);
      return [node];
    });
    for (const node of added) {
      for (const id of node.task.depends_on) {
        const needed = nodes.get(id)!;
        needed.dependents.push(node);
        if (!needed.isSettled) node.missing++;
      }
    }
    return added.filter((node) => node.missing === 0 && isWaiting(node));
  }

  const isWaiting = ({ id, isSettled }: Node) => !isSettled && state.tasks.get(id)?.status !== "in_doubt";
  const initial = grow(plan);

  return {
    grow,
    isSettled: (id: string) => nodes.get(id)?.isSettled === true,
    unsettled: () => [...nodes.values()].filter((node) => !node.isSettled),
    /** The tasks that were under way when an earlier runner stopped, and may not be done again unasked. */
    interrupted: () =>
      [...nodes.values()].filter(({ id, isSettled }) => {
        const task = state.tasks.get(id);
        if (isSettled || !task || task.status === "in_doubt") return false;
        return task.status === "running" && task.effectful === true || openEffects(task.calls).length > 0;
      }),
    /** The tasks that can start at once. */
    free: () => initial.filter(isWaiting),
    /** Marks a task as settled; returns those that waited only for it. */
    settle(node: Node): Node[] {
      if (node.isSettled) return [];
      node.isSettled = true;
      // A decision may have given a task its end before the tasks that it needs have theirs.
      return node.dependents.filter((dependent) => --dependent.missing === 0 && isWaiting(dependent));
    },
  };
}

function isSettled(task: TaskState | undefined): boolean {
  return task !== undefined && !["waiting", "running", "in_doubt"].includes(task.status);
}
