/** The levels of log messages, the least grave first. */
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

export function isLogLevel(value: unknown): value is string {
  return typeof value === "string" && LEVELS.includes(value);
}

/** True if a level is at least as grave as another one; without another one, always. */
export function isLoggedAt(level: unknown, from: unknown): boolean {
  return !isLogLevel(from) || LEVELS.indexOf(isLogLevel(level) ? level : "info") >= LEVELS.indexOf(from);
}
