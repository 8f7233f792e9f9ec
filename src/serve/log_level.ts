/** How grave what a server logs can be, the least first. */
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

export function isLogLevel(value: unknown): value is string {
  return typeof value === "string" && LEVELS.includes(value);
}

/** Whether something of one level is to be heard from another one on; without one, everything is. */
export function isLoggedAt(level: unknown, from: unknown): boolean {
  return !isLogLevel(from) || LEVELS.indexOf(isLogLevel(level) ? level : "info") >= LEVELS.indexOf(from);
}
