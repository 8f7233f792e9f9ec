import type { Check } from "../../config/mod.ts";
import { isObject, messageOf, oneLine, splitToolId } from "../../model/mod.ts";
import { SYSTEM_PATH } from "../../platform/mod.ts";
import { Command } from "../../platform/start.ts";
import { log } from "../../telemetry/mod.ts";
import type { JudgedCall } from "./judged.ts";

/** The word of a program that a rule asked; `none` leaves the call to the other rules. */
export interface Word {
  readonly verdict: "allow" | "deny" | "approve" | "none";
  readonly message?: string;
}

/** Asks a program about a call. */
export type Checker = (check: Check, call: JudgedCall) => Promise<Word>;

const PATIENCE_MS = 5_000;
const LONGEST_ANSWER = 64 * 1024;
const LONGEST_MESSAGE = 500;

/**
 * Runs the program with the call as one JSON text on its stdin. It prints `{"verdict": "allow" | "deny" | "approve" |
 * "none", "message"?}`; anything else, and no answer in time, is a denial.
 */
export const askProgram: Checker = async ({ command, args = [], timeout = PATIENCE_MS }, call) => {
  try {
    return wordIn(await outputOf({ command, args, timeout }, JSON.stringify(shownTo(call))));
  } catch (error) {
    log("warning", "policy_check_failed", { command, reason: messageOf(error) });
    return {
      verdict: "deny",
      message: `the program that judges it gave no verdict: ${oneLine(messageOf(error), 200)}`,
    };
  }
};

/** The call as a program reads it. */
function shownTo({ tool, args, effect, by, client, project, run, definition }: JudgedCall) {
  const { server } = splitToolId(tool);
  return { tool, server, arguments: args, effect, by, client, project, run, annotations: definition?.annotations };
}

async function outputOf({ command, args, timeout }: Required<Check>, input: string): Promise<string> {
  const child = new Command(command, {
    args: [...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
    clearEnv: true,
    env: { PATH: SYSTEM_PATH },
  }).spawn();
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, timeout);
  try {
    const writer = child.stdin.getWriter();
    // A program may answer without reading.
    const written = writer.write(new TextEncoder().encode(`${input}\n`)).then(() => writer.close()).catch(() => {});
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > LONGEST_ANSWER) throw new Error("its answer is too long");
    }
    await written;
    const { code } = await child.status;
    if (isLate) throw new Error(`no answer within ${timeout} ms`);
    if (code !== 0) throw new Error(`it ended with exit code ${code}`);
    return text;
  } finally {
    clearTimeout(late);
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended.
    }
  }
}

function wordIn(text: string): Word {
  const answer: unknown = JSON.parse(text);
  const { verdict, message } = isObject(answer) ? answer : {};
  if (verdict !== "allow" && verdict !== "deny" && verdict !== "approve" && verdict !== "none") {
    throw new Error('it printed no {"verdict": "allow" | "deny" | "approve" | "none"}');
  }
  return { verdict, ...typeof message === "string" && { message: oneLine(message, LONGEST_MESSAGE) } };
}
