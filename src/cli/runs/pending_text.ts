import type { PendingView } from "../../workflow/mod.ts";
import { isObject, type Json, type JsonObject, oneLine, sanitise, splitToolId } from "../../model/mod.ts";

/** In a few words, for a list. */
export function pendingWords({ reason, task, tool, why, call }: PendingView): string {
  const named = isObject(call) && typeof call.tool === "string" ? call.tool : tool;
  const what = oneLine(named ?? task ?? "a call", 80);
  switch (reason) {
    case "approval":
      return `a human must allow ${what}`;
    case "in_doubt":
      return `${oneLine(task ?? "a call", 80)} may or may not have happened`;
    case "question":
      return `${what} asks something`;
    case "sign_in":
      return `a sign-in: agentcards login ${splitToolId(what).server ?? "SERVER"}`;
    case "effects":
      return `a word before ${what} acts`;
    case "after":
      return `a word after ${oneLine(task ?? "a task", 80)}`;
    case "layer":
      return why === undefined ? "a word after each layer" : oneLine(why, 120);
    default:
      return why === undefined ? "somebody to go on" : oneLine(why, 120);
  }
}

const SHOWN_CALLS = 5;
const SHOWN_CALL = 200;

/** The calls that wait, and exactly which commands go on. */
export function pendingLines(id: string, pending: PendingView): string[] {
  const waiting = [
    ...pending.task === undefined
      ? []
      : [{ task: pending.task, ...pending.call !== undefined && { call: pending.call } }],
    ...pending.also ?? [],
  ];
  const calls = waiting.filter(({ call }) => call !== undefined).map(({ task, call }) =>
    `  ${oneLine(task, 64)}: ${callText(call as Json)}`
  );
  return [
    ...calls.slice(0, SHOWN_CALLS),
    ...calls.length > SHOWN_CALLS ? [`  … and ${calls.length - SHOWN_CALLS} more`] : [],
    ...commandsFor(id, pending.reason, [...new Set(waiting.map(({ task }) => task))]),
  ];
}

function callText(call: Json): string {
  if (!isObject(call)) return "";
  const { tool, arguments: given, code } = call as JsonObject;
  if (typeof tool !== "string") return oneLine(String(code ?? ""), SHOWN_CALL);
  return oneLine(`${tool} ${typeof given === "string" ? given : JSON.stringify(given ?? {})}`, SHOWN_CALL);
}

function commandsFor(id: string, reason: string, tasks: readonly string[]): string[] {
  const rows: [string, string][] = [];
  if (reason === "approval") {
    rows.push(["allow it", `agentcards approve ${id}`], ["refuse it", `agentcards reject ${id}`]);
  } else if (reason === "in_doubt") {
    for (const task of tasks.slice(0, SHOWN_CALLS)) {
      rows.push(["decide", `agentcards runs resolve ${id} --task ${sanitise(task)} --outcome done|retry|skip`]);
    }
  } else rows.push([reason === "question" ? "answer it" : "go on", `agentcards runs resume ${id}`]);
  rows.push(["give up", `agentcards runs abort ${id}`]);
  const width = Math.max(...rows.map(([what]) => what.length));
  return rows.map(([what, how]) => `  ${`${what}:`.padEnd(width + 1)} ${how}`);
}
