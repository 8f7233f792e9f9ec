// Loaded when a workflow with a condition is planned or run: the package takes 10 to 50 ms to load.
import { type ASTNode, Environment } from "@marcbachmann/cel-js";
import { messageOf, oneLine } from "../../model/mod.ts";
import type { Condition, Scope } from "./conditions.ts";

/** The variables that a condition may use. */
const VARIABLES: Readonly<Record<Scope, readonly string[]>> = {
  when: ["deps", "input"],
  until: ["output", "input"],
};
const LIMITS = { maxAstNodes: 500, maxDepth: 50, maxListElements: 200, maxMapEntries: 200, maxCallArguments: 8 };
/** The most elements that the macros of one evaluation look at. */
const MOST_STEPS = 100_000;

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "%": (a, b) => a % b,
};

const ENVIRONMENTS = { when: environment("when"), until: environment("until") };

/** Values of JSON are compared as people expect: null is neither more nor less than a value, 1 is 1.0. */
function environment(scope: Scope): Environment {
  const made = new Environment({ homogeneousAggregateLiterals: false, limits: LIMITS });
  for (const name of VARIABLES[scope]) made.registerVariable(name, "dyn");
  for (const op of ["<", "<=", ">", ">="]) {
    made.registerOperator(`null ${op} null`, () => false);
    for (const type of ["int", "uint", "double", "string", "bool", "list", "map"]) {
      made.registerOperator(`null ${op} ${type}`, () => false);
      made.registerOperator(`${type} ${op} null`, () => false);
    }
  }
  for (const [op, compute] of Object.entries(ARITHMETIC)) {
    const mixed = (a: unknown, b: unknown) => compute(Number(a), Number(b));
    made.registerOperator(`double ${op} int`, mixed);
    made.registerOperator(`int ${op} double`, mixed);
  }
  made.registerOperator("double % double", (a: unknown, b: unknown) => Number(a) % Number(b));
  return made;
}

/** Reads a condition; throws an error that says what is wrong with it. */
export function compile(text: string, scope: Scope): Condition {
  const budget = { steps: 0 };
  const names = new Set<string>();
  let evaluate: (context: Record<string, unknown>) => unknown;
  try {
    const parsed = ENVIRONMENTS[scope].parse(text);
    readNames(parsed.ast, scope, names);
    const { valid, type, error } = parsed.check();
    if (!valid) throw error;
    if (type !== "bool" && type !== "dyn") throw new Error(`it gives a value of type ${type}, not true or false`);
    adapt(parsed.ast, budget);
    evaluate = parsed as typeof evaluate;
  } catch (error) {
    throw new Error(`"${oneLine(text, 120)}" is no condition: ${reasonOf(error)}`);
  }
  return {
    names,
    holds(context) {
      budget.steps = 0;
      let value: unknown;
      try {
        value = evaluate({ ...context });
      } catch (error) {
        throw new Error(`the condition ${oneLine(text, 120)} cannot be evaluated: ${reasonOf(error)}`);
      }
      if (typeof value === "boolean") return value;
      throw new Error(`the condition ${oneLine(text, 120)} gives ${kindOfValue(value)}, not true or false`);
    },
  };
}

function kindOfValue(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : typeof value === "bigint" ? "a number" : `a ${typeof value}`;
}

function reasonOf(error: unknown): string {
  const { summary } = error as { summary?: unknown };
  return oneLine(typeof summary === "string" ? summary : messageOf(error), 200);
}

/** Finds the tasks that a condition names; refuses the parts of CEL that have no place here. */
function readNames(node: ASTNode, scope: Scope, names: Set<string>): void {
  const { op, args } = node as { op: string; args: unknown };
  if (op === "rcall" || op === "call") {
    if ((args as unknown[])[0] === "matches") {
      throw new Error("matches() is not available; use contains(), startsWith() or endsWith()");
    }
  }
  if (op === "." || op === "[]") {
    const [left, right] = args as [ASTNode, ASTNode | string];
    if (isVariable(left, "deps")) {
      const name = typeof right === "string" ? right : right.op === "value" ? right.args : undefined;
      if (typeof name !== "string") throw new Error('deps takes the id of a task: deps.ID or deps["ID"]');
      return void names.add(name);
    }
  }
  if (scope === "when" && isVariable(node, "deps")) {
    throw new Error("deps takes the id of a task: deps.ID.status, deps.ID.output or deps.ID.error");
  }
  for (const child of childrenOf(node)) readNames(child, scope, names);
}

function isVariable({ op, args }: ASTNode, name: string): boolean {
  return op === "id" && (args as unknown) === name;
}

function childrenOf({ args }: ASTNode): ASTNode[] {
  const found = (value: unknown): ASTNode[] =>
    Array.isArray(value)
      ? value.flatMap(found)
      : typeof value === "object" && value !== null && "op" in value
      ? [value as ASTNode]
      : [];
  return found(args);
}

type Evaluate = (...given: unknown[]) => unknown;

/** The parts of a checked node by which the package evaluates it. */
interface Evaluated {
  handle?: (left: unknown, right: unknown, ...more: unknown[]) => unknown;
  readonly meta: {
    readonly evaluate: Evaluate;
    readonly alternate?: Evaluated;
    readonly macro?: { evaluate: Evaluate };
  };
  setMeta(key: "evaluate", evaluate: Evaluate): unknown;
}

/**
 * Makes an absent key null, and `has()` of one false, where the package throws; and bounds the steps of macros. The
 * package has no option for either, so its checked nodes are changed: the tests of conditions hold the version to it.
 */
function adapt(node: ASTNode, budget: { steps: number }): void {
  const { op, args } = node as { op: string; args: unknown };
  const evaluated = node as unknown as Evaluated;
  const { handle, meta: { alternate, macro } } = evaluated;
  if ((op === "." || op === "[]") && handle) {
    evaluated.handle = (left, right, ...more) => left === null ? null : orNull(() => handle(left, right, ...more));
  }
  if (macro) {
    const { evaluate } = macro;
    macro.evaluate = (...given) => orNull(() => evaluate(...given)) === true;
    return;
  }
  // A quantifier goes on after an error: each loop is refused at its beginning once the steps are used up.
  if (alternate) {
    countSteps(alternate, budget);
    for (const part of ((args as unknown[])[2] as ASTNode[]).slice(1)) countSteps(part as unknown as Evaluated, budget);
  }
  for (const child of childrenOf(node)) adapt(child, budget);
}

function countSteps(node: Evaluated, budget: { steps: number }): void {
  const { evaluate } = node.meta;
  node.setMeta("evaluate", (...given) => {
    if (++budget.steps > MOST_STEPS) throw new Error(`it looks at more than ${MOST_STEPS} elements`);
    return evaluate(...given);
  });
}

const ABSENT = new Set(["no_such_key", "index_out_of_bounds"]);

function orNull(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (ABSENT.has((error as { code?: string }).code ?? "")) return null;
    throw error;
  }
}
