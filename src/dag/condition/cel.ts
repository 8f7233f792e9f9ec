// Loaded when a workflow with a condition is planned or run.
import { type ExpressionNode, follow, messageOf, oneLine, type Step } from "../../model/mod.ts";
import type { Condition, Scope } from "./conditions.ts";

const { childrenOf, createLanguage, isVariable, kindOfValue } = await import("../../model/cel/expression.ts");

/** The variables that a condition may use. */
const VARIABLES: Readonly<Record<Scope, readonly string[]>> = {
  when: ["deps", "input"],
  until: ["output", "input"],
  event: ["event"],
  task: ["task"],
  run: ["run"],
  project: ["project"],
  system: ["system"],
};
const insteadOfMatches = "contains(), startsWith() or endsWith()";
const READERS = {
  when: createLanguage({ variables: VARIABLES.when, insteadOfMatches }),
  until: createLanguage({ variables: VARIABLES.until, insteadOfMatches }),
  event: createLanguage({ variables: VARIABLES.event, insteadOfMatches }),
  task: createLanguage({ variables: VARIABLES.task, insteadOfMatches }),
  run: createLanguage({ variables: VARIABLES.run, insteadOfMatches }),
  project: createLanguage({ variables: VARIABLES.project, insteadOfMatches }),
  system: createLanguage({ variables: VARIABLES.system, insteadOfMatches }),
};

/** Reads a condition; throws an error that says what is wrong with it. */
export function compile(text: string, scope: Scope): Condition {
  const names = new Set<string>();
  const shown = oneLine(text, 120);
  let expression: ReturnType<typeof READERS.when>;
  try {
    expression = READERS[scope](text, (node) => nameIn(node, scope, names));
    const { type } = expression;
    if (type !== "bool" && type !== "dyn") throw new Error(`it gives a value of type ${type}, not true or false`);
  } catch (error) {
    throw new Error(`"${shown}" is no condition: ${messageOf(error)}`);
  }
  return {
    names,
    holds(context) {
      let value: unknown;
      try {
        value = expression.evaluate(context);
      } catch (error) {
        throw new Error(`the condition ${shown} cannot be evaluated: ${messageOf(error)}`);
      }
      if (typeof value === "boolean") return value;
      throw new Error(`the condition ${shown} gives ${kindOfValue(value)}, not true or false`);
    },
    absent(context) {
      for (const { root, path } of placesIn(expression.ast, VARIABLES[scope])) {
        const found = follow(context[root], path);
        if ("value" in found) continue;
        const [place, where] = [path, path.slice(0, found.missing)].map((steps) => root + steps.map(stepText).join(""));
        return oneLine(`${where} ${found.there}, so ${place} is null`, 300);
      }
    },
  };
}

interface Place {
  readonly root: string;
  readonly path: readonly Step[];
}

/** The places that an expression reads by fixed names, without those that it asks about: `has(a.b)`, `a.b == null`. */
function placesIn(node: ExpressionNode, roots: readonly string[]): Place[] {
  const { op, args } = node as { op: string; args: unknown };
  if (op === "call" && (args as unknown[])[0] === "has") return [];
  const children = childrenOf(node);
  if ((op === "==" || op === "!=") && children.some((one) => one.op === "value" && one.args === null)) return [];
  const place = placeOf(node, roots);
  return place ? [place] : children.flatMap((child) => placesIn(child, roots));
}

function placeOf({ op, args }: ExpressionNode, roots: readonly string[]): Place | undefined {
  if (op === "id") return roots.includes(args as string) ? { root: args as string, path: [] } : undefined;
  if (op !== "." && op !== "[]") return undefined;
  const [left, right] = args as [ExpressionNode, ExpressionNode | string];
  const step = typeof right === "string" ? right : right.op === "value" ? right.args as unknown : undefined;
  const before = placeOf(left, roots);
  if (!before || typeof step !== "string" && typeof step !== "bigint") return undefined;
  return { ...before, path: [...before.path, typeof step === "bigint" ? Number(step) : step] };
}

function stepText(step: Step): string {
  return typeof step === "string" && /^[A-Za-z_]\w*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
}

/** Finds the task that a part of a condition names. */
function nameIn(node: ExpressionNode, scope: Scope, names: Set<string>): void | "done" {
  const { op, args } = node as { op: string; args: unknown };
  if (op === "." || op === "[]") {
    const [left, right] = args as [ExpressionNode, ExpressionNode | string];
    if (isVariable(left, "deps")) {
      const name = typeof right === "string" ? right : right.op === "value" ? right.args : undefined;
      if (typeof name !== "string") throw new Error('deps takes the id of a task: deps.ID or deps["ID"]');
      names.add(name);
      return "done";
    }
  }
  if (scope === "when" && isVariable(node, "deps")) {
    throw new Error("deps takes the id of a task: deps.ID.status, deps.ID.output or deps.ID.error");
  }
}
