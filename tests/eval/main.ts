// deno-lint-ignore-file no-console -- printing is what this file is for
// deno task eval NAME [options] [--json]: measures the product through its own code paths.
import { parseArgs } from "node:util";

/** One measuring command: prints a table for people, returns the figures for programs. */
export interface Evaluation {
  readonly options: Record<string, { type: "string" | "boolean"; default?: string; multiple?: boolean }>;
  run(values: Record<string, string | undefined>): Promise<Record<string, unknown>>;
}

const NAMES = [
  "overhead",
  "startup",
  "index",
  "context",
  "retrieval",
  "search",
  "everyday",
  "makespan",
  "journal",
  "crash",
  "answers",
  "sandbox",
  "code",
  "dependencies",
  "prediction",
  "speculation",
  "binding",
  "suggest",
  "episodes",
  "soak",
  "stale",
  "truth",
  "faults",
  "growth",
  "attacks",
  "audit",
  "lint",
  "pins",
  "hooks",
  "conditions",
  "guard",
  "budgets",
  "analytics",
  "cluster",
  "undo",
  "snapshot",
] as const;

const [name, ...rest] = Deno.args;
if (!NAMES.includes(name as typeof NAMES[number])) {
  console.error(`usage: deno task eval ${NAMES.join("|")} [options] [--json]`);
  Deno.exit(2);
}
const { evaluation } = await import(`./${name}.ts`) as { evaluation: Evaluation };
const { values } = parseArgs({ args: spread(rest), options: { json: { type: "boolean" }, ...evaluation.options } });
const figures = await evaluation.run(values as Record<string, string | undefined>);
if (values.json) console.log(JSON.stringify(figures));
else {console.log(
    Object.entries(figures).map(([key, value]) => `${key.padEnd(18)} ${JSON.stringify(value)}`).join("\n"),
  );}
Deno.exit(0);

/** `--distractors A B` means the same as `--distractors A --distractors B`. */
function spread(args: readonly string[]): string[] {
  let list: string | undefined;
  return args.flatMap((arg) => {
    if (!arg.startsWith("--")) return list ? [list, arg] : [arg];
    list = evaluation.options[arg.slice(2)]?.multiple ? arg : undefined;
    return list ? [] : [arg];
  });
}
