import type { RunBody } from "../../workflow/mod.ts";
import { isNotAllowed, type RunStatus } from "../../dag/mod.ts";
import { cut, isObject, type Json, oneLine, sanitise } from "../../model/mod.ts";
import { pendingLines } from "./pending_text.ts";
import { screen, wrap } from "../screen/screen.ts";
import { MARKS, paintStatus } from "./status_glyph.ts";
import { duration, painter, type Terminal } from "../screen/terminal.ts";

/** The exit code that tells how a run came out. */
export function exitCodeOf({ status }: Pick<RunBody, "status">): number {
  return status === "completed" ? 0 : status === "running" || status === "paused" ? 3 : 1;
}

const SHOWN_RESULTS = 20;
const SHORT_RESULT = 60;
const SHOWN_CHARACTERS = 4_000;
const SHOWN_ERRORS = 10;

/** Prints what a run gave, what went wrong, and one line about all of it. */
export function printAnswer(answer: RunBody, terminal: Terminal): void {
  const paint = painter(terminal.color);
  const results = Object.entries(answer.results);
  const whole = `agentcards runs show ${answer.workflow_id} --json`;
  for (const [id, value] of results.slice(0, SHOWN_RESULTS)) {
    const text = resultText(value, whole);
    const isShort = text.length <= SHORT_RESULT && !text.includes("\n");
    terminal.out(`${paint("bold", id)}${isShort ? `  ${text}` : `\n${indented(text)}`}\n`);
  }
  if (results.length > SHOWN_RESULTS) {
    terminal.out(`… and ${results.length - SHOWN_RESULTS} more results: ${whole}\n`);
  }
  const wrong = answer.tasks.filter(({ status }) => ["error", "failed_safe", "in_doubt"].includes(status));
  for (const { id, status, error } of wrong.slice(0, SHOWN_ERRORS)) {
    const text = `${id}: ${oneLine(error ?? "it failed", 500)}`;
    terminal.out(marked(paintStatus(paint, status, MARKS[status]), text, terminal));
  }
  if (wrong.length > SHOWN_ERRORS) terminal.out(`… and ${wrong.length - SHOWN_ERRORS} more tasks went wrong\n`);
  // The error of a run that failed names them.
  const skipped = answer.error === undefined ? answer.tasks.filter(({ status }) => status === "skipped") : [];
  const noted = answer.tasks.flatMap(({ id, note }) => note === undefined ? [] : [`${id}: ${oneLine(note, 500)}`]);
  for (const text of noted.slice(0, SHOWN_ERRORS)) terminal.out(marked(paint("yellow", "!"), text, terminal));
  for (const { id, error } of skipped.slice(0, SHOWN_ERRORS)) {
    const text = `${id} was skipped: ${oneLine(error ?? "it was not wanted", 500)}`;
    terminal.out(marked(paintStatus(paint, "skipped", MARKS.skipped), text, terminal));
  }
  if (skipped.length > SHOWN_ERRORS) terminal.out(`… and ${skipped.length - SHOWN_ERRORS} more tasks were skipped\n`);
  if (results.length + wrong.length + noted.length + skipped.length > 0) terminal.out("\n");
  terminal.out(marked(markOf(answer.status, terminal), summaryOf(answer), terminal));
  const isRefused = wrong.some(({ error }) => isNotAllowed(error));
  if (exitCodeOf(answer) === 1 && answer.status !== "aborted" && !isRefused) {
    terminal.out(`  run again what failed: agentcards runs retry ${answer.workflow_id}\n`);
  }
  if (answer.pending) {
    terminal.out(pendingLines(answer.workflow_id, answer.pending).map((line) => `${line}\n`).join(""));
  }
}

/** A mark and a text, on a terminal broken between words. */
function marked(mark: string, text: string, { isTerminal }: Terminal): string {
  return `${mark} ${wrap(text, isTerminal ? screen().columns - 3 : Infinity).join("\n  ")}\n`;
}

function summaryOf({ status, workflow_id, error, stats, pending }: RunBody): string {
  const { wall_ms, sequential_ms, tokens_kept } = stats;
  const factor = sequential_ms / Math.max(1, wall_ms);
  const isWhole = status === "completed";
  const facts = [
    pending ? `paused: ${oneLine(pending.why ?? pending.reason, 300)}` : `${status} in ${duration(wall_ms)}`,
    ...error === undefined || status === "aborted" ? [] : [oneLine(error, 300)],
    ...isWhole && factor >= 1.1
      ? [`one by one it would have taken ${duration(sequential_ms)} (${factor.toFixed(1)}x)`]
      : [],
    ...isWhole && tokens_kept > 0 ? [`${tokens_kept.toLocaleString("en-US")} tokens stayed out of the answer`] : [],
    workflow_id,
  ];
  return facts.join("; ");
}

function markOf(status: RunStatus, { color }: Terminal): string {
  const paint = painter(color);
  if (status === "completed") return paint("green", "✓");
  return exitCodeOf({ status }) === 1 ? paint("red", "✗") : paint("yellow", "‖");
}

/** A result as people read it; of one that was put aside, how it begins. */
function resultText(value: Json, whole: string): string {
  if (isObject(value) && typeof value.handle === "string" && typeof value.preview === "string") {
    const { handle, bytes, preview, path } = value as {
      handle: string;
      preview: string;
      bytes?: number;
      path?: string;
    };
    const named = JSON.stringify({ handle, ...path !== undefined && { path } });
    const size = Number(bytes ?? 0).toLocaleString("en-US");
    return `${readable(preview, whole)}\n(${size} bytes in all: agentcards call agentcards:read_result '${
      sanitise(named)
    }')`;
  }
  return readable(typeof value === "string" ? value : JSON.stringify(value, null, 2), whole);
}

function readable(text: string, whole: string): string {
  const clean = sanitise(text).trimEnd();
  return clean.length > SHOWN_CHARACTERS ? `${cut(clean, SHOWN_CHARACTERS)}\n(and so on: ${whole})` : clean;
}

function indented(text: string): string {
  return text.split("\n").map((line) => `  ${line}`.trimEnd()).join("\n");
}
