import type { TaskReport } from "../../workflow/mod.ts";
import type { painter } from "../screen/terminal.ts";

export type Paint = ReturnType<typeof painter>;
export type Status = TaskReport["status"];

/** How a task stands, as one character. */
export const MARKS: Readonly<Record<Status, string>> = {
  waiting: "·",
  running: "▸",
  success: "✓",
  error: "✗",
  failed_safe: "✗",
  skipped: "⤼",
  in_doubt: "?",
};

const STYLES: Readonly<Record<Status, Parameters<Paint>[0]>> = {
  waiting: "dim",
  running: "bold",
  success: "green",
  error: "red",
  failed_safe: "yellow",
  skipped: "dim",
  in_doubt: "yellow",
};

/** A text in the colour of how a task stands. */
export function paintStatus(paint: Paint, status: Status, text: string): string {
  return paint(STYLES[status], text);
}
