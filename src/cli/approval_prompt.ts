import type { ApprovalReport } from "../gateway/workflow_control.ts";
import { oneLine, spelledOut } from "../model/text.ts";
import { splitToolId } from "../model/tool.ts";
import { ago } from "./ago.ts";
import { painter, type Terminal } from "./terminal.ts";

/** Whether a human can read what is shown here and answer: the word of a pipe or a script counts nothing. */
export function canAskHere(): boolean {
  return Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
}

export interface Prompt {
  readonly terminal: Terminal;
  readonly question: string;
}

/** Shows a call whole and asks about it; undefined when the human gives no answer. */
export async function askAboutCall(call: ApprovalReport, { terminal, question }: Prompt): Promise<boolean | undefined> {
  terminal.out(callText(call, terminal.color));
  const { confirm, isCancel } = await import("@clack/prompts");
  const answer = await confirm({ message: question, initialValue: false });
  terminal.out("\n");
  return isCancel(answer) ? undefined : answer;
}

const SHOWN_CHARACTERS = 4_000;

/** Everything there is to know about a call before it is allowed. */
export function callText(call: ApprovalReport, color: boolean): string {
  const paint = painter(color);
  const { server = "", name } = splitToolId(call.tool);
  const facts = [
    ["server", server],
    ["tool", name],
    ["why", call.why],
    ["folder", call.cwd],
    ["run", `${call.id}, task ${call.task}, asked ${ago(call.since)}`],
  ].map(([label, text]) => `  ${paint("bold", label!.padEnd(9))} ${oneLine(text!, 500)}\n`);
  const [first, second, ...rest] = facts;
  const json = `  ${paint("bold", "arguments")} ${exactText(call.arguments).replaceAll("\n", "\n  ")}\n`;
  return `A call waits for your word:\n\n${[first, second, json, ...rest].join("")}\n`;
}

/** Arguments as they are, nothing hidden: what a terminal would not show is spelt out. */
function exactText(value: unknown): string {
  const spelt = spelledOut(JSON.stringify(value, null, 2));
  if (spelt.length <= SHOWN_CHARACTERS) return spelt;
  const more = (spelt.length - SHOWN_CHARACTERS).toLocaleString("en-US");
  return `${spelt.slice(0, SHOWN_CHARACTERS)}\n… ${more} more characters are NOT shown here; ` +
    "`agentcards approvals --json` has them all";
}
