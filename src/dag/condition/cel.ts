// Loaded when a workflow with a condition is planned or run.
import { type ExpressionNode, messageOf, oneLine } from "../../model/mod.ts";
import type { Condition, Scope } from "./conditions.ts";

const { createLanguage, isVariable, kindOfValue } = await import("../../model/cel/expression.ts");

/** The variables that a condition may use. */
const VARIABLES: Readonly<Record<Scope, readonly string[]>> = {
  when: ["deps", "input"],
  until: ["output", "input"],
  event: ["event"],
};
const insteadOfMatches = "contains(), startsWith() or endsWith()";
const READERS = {
  when: createLanguage({ variables: VARIABLES.when, insteadOfMatches }),
  until: createLanguage({ variables: VARIABLES.until, insteadOfMatches }),
  event: createLanguage({ variables: VARIABLES.event, insteadOfMatches }),
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
  };
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
