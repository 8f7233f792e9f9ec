import { duration } from "./terminal.ts";

const DAY = 86_400_000;

/** How long ago something was, as people say it. */
export function ago(at: number, now = Date.now()): string {
  const ms = Math.max(0, now - at);
  if (ms < 2_000) return "just now";
  if (ms < 90_000) return `${Math.round(ms / 1_000)} s ago`;
  return ms < 2 * DAY ? `${duration(ms)} ago` : `${Math.round(ms / DAY)} days ago`;
}
