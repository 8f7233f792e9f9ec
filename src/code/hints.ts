import { serverVariables, type Session, withoutVariableNote } from "../call/mod.ts";
import { messageOf, nearest, within } from "../model/mod.ts";
import type { CageOutcome, TypeChecker, TypeProblem } from "../sandbox/mod.ts";
import { log } from "../telemetry/mod.ts";
import { typesFor } from "./tool_types.ts";

type CodeError = Extract<CageOutcome["result"], { ok: false }>["error"];

const FENCED = /^\s*```[\w-]*[ \t]*\r?\n([\s\S]*?)\r?\n?```\s*$/;

/** Code without the fence of a Markdown block around it. */
export function unfenced(code: string): string {
  return FENCED.exec(code)?.[1] ?? code;
}

export const NOTHING_RETURNED =
  "The result is undefined: end the code with `return VALUE`, and read a field of a call as `(await server.tool(args)).field`.";

const SHOWN_SERVERS = 30;
const NO_ACCESS =
  "Code in the sandbox has no network, no files and no environment. Call a tool of a server instead, or pass data in by context.";

const NO_IMPORTS =
  "Code in the sandbox can import node: modules only. Write out what you need, or call a tool of a server instead.";
const FOREIGN_IMPORT =
  /--no-(?:npm|remote) is specified|^TypeError: Import ".*" not a dependency|Requires import access/;

/** A failure in words that help whoever wrote the code: what there is instead of what was not found or not allowed. */
export function explained(error: CodeError, session: Session): CodeError & { readonly hint?: string } {
  if (error.type !== "ToolError" && FOREIGN_IMPORT.test(error.message)) {
    const message = error.message.replace(
      /[;,] (?:but --no-(?:npm|remote) is specified|run again with the --allow-).*$/s,
      "",
    );
    return { ...error, message, hint: NO_IMPORTS };
  }
  if (error.type === "PermissionError") {
    return { ...error, message: error.message.replace(/,? run again with the --allow-[\s\S]*$/, ""), hint: NO_ACCESS };
  }
  const unknown = /^ReferenceError: (\S+) is not defined/.exec(error.message)?.[1];
  if (unknown === undefined) return error;
  const variables = [...serverVariables(session).servers.keys()];
  // Spelt otherwise before spelt wrongly: secondkit is second_kit, not kit.
  const plain = (name: string) => name.replaceAll("_", "").toLowerCase();
  const near = variables.find((name) => plain(name) === plain(unknown)) ?? nearest(unknown, variables, 1)[0];
  const more = variables.length > SHOWN_SERVERS ? ` and ${variables.length - SHOWN_SERVERS} more` : "";
  const hint = `${near ? `Did you mean ${near}? ` : ""}Servers are the variables ${
    variables.slice(0, SHOWN_SERVERS).join(", ")
  }${more}; also tools["server:tool"](args), context, deps, results.get(handle).${
    withoutVariableNote(session).map((note) => ` ${note}`).join("")
  }`;
  return { ...error, hint };
}

const CHECKED = new Set(["RuntimeError", "ToolError"]);
const CHECK_MS = 5_000;
const SHOWN_PROBLEMS = 5;

export interface CheckOptions {
  readonly session: Session;
  readonly code: string;
  readonly signal: AbortSignal;
  checker(): Promise<TypeChecker>;
}

/** The findings of a type check of code that failed, where the types of its tools are known; none when it is late. */
export async function typeProblems(
  { type }: CodeError,
  { session, code, checker, signal }: CheckOptions,
): Promise<TypeProblem[]> {
  if (!CHECKED.has(type)) return [];
  try {
    // Who waits no longer leaves the compiler to come up for the next one.
    const check = async () => await (await checker()).check(await typesFor(session, code), signal, session);
    return (await within(check(), CHECK_MS, "the type check took too long")).slice(0, SHOWN_PROBLEMS);
  } catch (error) {
    log("debug", "type_check_failed", { reason: messageOf(error) });
    return [];
  }
}
