import type { ApprovalReport } from "../../control/mod.ts";
import { foldArguments, isObject, oneLine, spelledOut, splitToolId } from "../../model/mod.ts";
import { stdio } from "../../platform/start.ts";
import { ago } from "../screen/relative_time.ts";
import { screen } from "../screen/screen.ts";
import { painter, type Terminal } from "../screen/terminal.ts";

/** Whether a human can read what is shown here and answer: the word of a pipe or a script counts nothing. */
export function canAskHere(): boolean {
  return stdio.stdin.isTerminal() && stdio.stdout.isTerminal();
}

export interface Prompt {
  readonly terminal: Terminal;
  readonly question: string;
  /** Closes the question when nobody waits for its answer any more. */
  readonly signal?: AbortSignal;
}

/** A call that a human is asked about. */
export type AskedCall = Pick<ApprovalReport, "tool" | "arguments" | "why"> & Partial<ApprovalReport>;

/** Shows a call and asks about it; undefined when the human gives no answer. What is folded can be seen whole first. */
export async function askAboutCall(call: AskedCall, { terminal, question, signal }: Prompt) {
  const { text, isFolded } = callText(call, terminal.color);
  terminal.out(text);
  const { confirm, isCancel } = await import("@clack/prompts");
  const ask = async (message: string, initialValue: boolean): Promise<boolean | undefined> => {
    const answer = await confirm({ message, initialValue, ...signal && { signal } });
    return isCancel(answer) ? undefined : answer;
  };
  if (isFolded && await ask("Long values are folded. Show all of it?", true)) {
    await showPages(JSON.stringify(call.arguments, null, 2), { terminal, goOn: () => ask("Go on?", true) });
  }
  const answer = await ask(question, false);
  terminal.out("\n");
  return answer;
}

const SHOWN_CHARACTERS = 4_000;

/** Everything there is to know about a call before it is allowed, long values folded. */
export function callText(call: AskedCall, color: boolean): { text: string; isFolded: boolean } {
  const paint = painter(color);
  const { server = "", name } = splitToolId(call.tool);
  const since = call.since === undefined ? "" : `, asked ${ago(call.since)}`;
  const facts = [
    ["server", server],
    ["tool", name],
    ["why", call.why],
    ...call.cwd === undefined ? [] : [["folder", call.cwd]],
    ...call.id === undefined
      ? []
      : [["run", `${call.id}${call.task === undefined ? "" : `, task ${call.task}`}${since}`]],
  ].map(([label, text]) => `  ${paint("bold", label!.padEnd(9))} ${oneLine(text!, 500)}\n`);
  const [first, second, ...rest] = facts;
  const given = isObject(call.arguments) ? call.arguments : {};
  const shown = foldArguments(given, SHOWN_CHARACTERS) ??
    { text: `${Object.keys(given).length} arguments, too many to name here`, folded: 1 };
  const json = `  ${paint("bold", "arguments")} ${shown.text.replaceAll("\n", "\n  ")}\n`;
  const text = `A call waits for your word:\n\n${[first, second, json, ...rest].join("")}\n`;
  return { text, isFolded: shown.folded > 0 };
}

interface Pages {
  readonly terminal: Terminal;
  goOn(): Promise<boolean | undefined>;
}

/** Shows a text as it is, nothing hidden, a screen at a time. */
async function showPages(text: string, { terminal, goOn }: Pages): Promise<void> {
  const { columns, rows } = screen();
  const size = Math.max(columns * (rows - 6), 1_000);
  for (let at = 0; at < text.length; at += size) {
    terminal.out(`\n${spelledOut(text.slice(at, at + size))}\n`);
    const left = text.length - at - size;
    if (left <= 0) return;
    terminal.out(`(${left.toLocaleString("en-US")} more characters)\n`);
    if (!await goOn()) return;
  }
}
