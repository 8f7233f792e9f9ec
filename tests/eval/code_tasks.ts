import { callKey } from "../../src/dag/code_call.ts";
import type { Random } from "../model/random.ts";
import { between, type DagTask, type Kind, kindOf, toolFor } from "./random_dag.ts";

/** A task that runs code, as run_workflow takes it. */
export interface DagCode {
  readonly id: string;
  readonly type: "code_execution";
  readonly code: string;
  readonly depends_on: readonly string[];
}

/** Something that happens once: the call of a task, or one that the code of a task makes. */
export interface Unit {
  /** The name under which the tools are told of it. */
  readonly name: string;
  readonly task: string;
  readonly kind: Kind;
  /** Tells calls of the same code apart. */
  readonly key?: string;
  readonly depends_on: readonly string[];
}

export interface Drawn {
  readonly tasks: readonly (DagTask | DagCode)[];
  readonly units: readonly Unit[];
}

const KINDS: readonly Kind[] = ["read", "idempotent", "effectful", "effectful"];

/** Makes some of the tasks code that calls tools by itself, one after another or side by side. */
export function withCode(random: Random, tasks: readonly DagTask[], share = 3): Drawn {
  const units: Unit[] = [];
  const drawn = tasks.map((task): DagTask | DagCode => {
    if (random.below(share) !== 0) {
      units.push({ name: task.arguments.task, task: task.id, kind: kindOf(task), depends_on: task.depends_on });
      return task;
    }
    const calls = Array.from({ length: between(random, [1, 4]) }, (_, i) => {
      const kind = KINDS[random.below(KINDS.length)]!;
      const args = { task: `${task.arguments.task}.${i}`, ms: between(random, [1, 30]) };
      units.push({ name: args.task, task: task.id, kind, key: callKey(toolFor(kind), args), depends_on: [] });
      return `tools[${JSON.stringify(toolFor(kind))}](${JSON.stringify(args)})`;
    });
    const code = random.below(2) === 0
      ? `return await Promise.all([${calls.join(", ")}])`
      : `return [${calls.map((call) => `await ${call}`).join(", ")}]`;
    return { id: task.id, type: "code_execution", code, depends_on: task.depends_on };
  });
  return { tasks: drawn, units };
}
