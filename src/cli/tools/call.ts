import type { RunStatus } from "../../dag/mod.ts";
import { AgentCardsError, isObject, messageOf, sanitise } from "../../model/mod.ts";
import { ask } from "../ask.ts";
import { questionTaker } from "../prompts/question.ts";
import { exitCodeOf } from "../runs/answer.ts";
import type { Terminal } from "../screen/terminal.ts";
import { jsonLine } from "../json_out.ts";

/** `agentcards call TOOL [JSON]` */
export async function call(tool: string, given: string | undefined, context: CallContext): Promise<number> {
  const { terminal } = context;
  let isAsking = false;
  const { result, value } = await ask({
    method: "call",
    params: { tool, arguments: parseArguments(given) },
    onQuestion: questionTaker(terminal, () => {
      isAsking = true;
      return { [Symbol.dispose]: () => isAsking = false };
    }),
    onProgress: ({ message, progress, total }) => {
      // What is written beside a question would be drawn over.
      if (terminal.isTerminal && !isAsking) {
        terminal.err(`${sanitise(String(message ?? `${progress}${total ? ` of ${total}` : ""}`))}\n`);
      }
    },
  });
  const failed = result.isError === true;
  if (context.json) terminal.out(jsonLine(result));
  else {
    (failed ? terminal.err : terminal.out)(sanitise(textOf(value, failed)) + "\n");
    const media = Array.isArray(result.content)
      ? result.content.filter((block) => isObject(block) && block.type !== "text")
      : [];
    if (media.length) terminal.err(`(and ${media.map((block) => block.type).join(", ")}; --json shows it)\n`);
  }
  return failed ? 1 : tool.startsWith("workflow:") && isObject(value) ? exitCodeOf(value as { status: RunStatus }) : 0;
}

/** A value as a person reads it; the messages of a failure are lines. */
function textOf(value: unknown, failed: boolean): string {
  if (typeof value === "string") return value;
  const isLines = failed && Array.isArray(value) && value.every((line) => typeof line === "string");
  return isLines ? value.join("\n") : JSON.stringify(value, null, 2);
}

export interface CallContext {
  readonly json?: boolean;
  readonly terminal: Terminal;
}

function parseArguments(given: string | undefined): Record<string, unknown> {
  if (given === undefined) return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(given);
  } catch (cause) {
    throw new AgentCardsError("USAGE", `The arguments are not JSON: ${messageOf(cause)}`, {
      hint: `Quote them for the shell, for example: '{"path": "README.md"}'`,
    });
  }
  if (isObject(parsed)) return parsed;
  throw new AgentCardsError("USAGE", "The arguments must be a JSON object");
}
