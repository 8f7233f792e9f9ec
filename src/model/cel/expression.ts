// Loaded when the first expression is read: the package takes 10 to 50 ms to load.
import { type ASTNode, Environment } from "@marcbachmann/cel-js";
import { messageOf } from "../errors.ts";
import { oneLine } from "../text.ts";

/** A part of an expression. */
export type ExpressionNode = ASTNode;

/** The words of one kind of expression in CEL. */
export interface Vocabulary {
  readonly variables: readonly string[];
  /** Functions by their signatures, such as `count(string, string): int`. */
  readonly functions?: Readonly<Record<string, (...given: never[]) => unknown>>;
  /** The functions that stand in for `matches()`, for the error that refuses it. */
  readonly insteadOfMatches: string;
}

/** An expression that was read. */
export interface Expression {
  readonly ast: ASTNode;
  /** The type of its value as far as it is known: `bool`, `int`, `double`, `string`, … or `dyn`. */
  readonly type: string;
  /** The value; throws where the expression cannot be evaluated. */
  evaluate(context: Readonly<Record<string, unknown>>): unknown;
}

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

/**
 * Makes the function that reads expressions of one vocabulary. Values of JSON are compared as people expect: null is
 * neither more nor less than a value, 1 is 1.0, an absent key is null.
 */
export function createLanguage({ variables, functions = {}, insteadOfMatches }: Vocabulary) {
  const environment = new Environment({ homogeneousAggregateLiterals: false, limits: LIMITS });
  for (const name of variables) environment.registerVariable(name, "dyn");
  for (const [signature, work] of Object.entries(functions)) {
    environment.registerFunction(signature, work as (...given: unknown[]) => unknown);
  }
  for (const op of ["<", "<=", ">", ">="]) {
    environment.registerOperator(`null ${op} null`, () => false);
    for (const type of ["int", "uint", "double", "string", "bool", "list", "map"]) {
      environment.registerOperator(`null ${op} ${type}`, () => false);
      environment.registerOperator(`${type} ${op} null`, () => false);
    }
  }
  for (const [op, compute] of Object.entries(ARITHMETIC)) {
    const mixed = (a: unknown, b: unknown) => compute(Number(a), Number(b));
    environment.registerOperator(`double ${op} int`, mixed);
    environment.registerOperator(`int ${op} double`, mixed);
  }
  environment.registerOperator("double % double", (a: unknown, b: unknown) => Number(a) % Number(b));

  /** Reads an expression; `inspect` may refuse a part of it by an error. */
  return (text: string, inspect: (node: ASTNode) => void | "done" = () => {}): Expression => {
    const budget = { steps: 0 };
    try {
      const parsed = environment.parse(text);
      walk(parsed.ast, (node) => {
        refuseMatches(node, insteadOfMatches);
        return inspect(node);
      });
      const { valid, type, error } = parsed.check();
      if (!valid) throw error;
      adapt(parsed.ast, budget);
      const evaluate = parsed as unknown as (context: Record<string, unknown>) => unknown;
      return {
        ast: parsed.ast,
        type: String(type),
        evaluate(context) {
          budget.steps = 0;
          try {
            return evaluate({ ...context });
          } catch (error) {
            throw new Error(reasonOf(error), { cause: error });
          }
        },
      };
    } catch (error) {
      throw new Error(reasonOf(error), { cause: error });
    }
  };
}

/** A value by its kind, for errors. */
export function kindOfValue(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : typeof value === "bigint" ? "a number" : `a ${typeof value}`;
}

function reasonOf(error: unknown): string {
  const { summary } = error as { summary?: unknown };
  return oneLine(typeof summary === "string" ? summary : messageOf(error), 200);
}

function walk(node: ASTNode, look: (node: ASTNode) => void | "done"): void {
  if (look(node) === "done") return;
  for (const child of childrenOf(node)) walk(child, look);
}

/** The package's own `matches()` is the native, exponential matcher. */
function refuseMatches({ op, args }: ASTNode, instead: string): void {
  if ((op === "rcall" || op === "call") && (args as unknown[])[0] === "matches") {
    throw new Error(`matches() is not available; use ${instead}`);
  }
}

/** True for a node that is the variable of this name. */
export function isVariable({ op, args }: ASTNode, name: string): boolean {
  return op === "id" && (args as unknown) === name;
}

export function childrenOf({ args }: ASTNode): ASTNode[] {
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
