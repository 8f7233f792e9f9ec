// The door of this room: other rooms import this file only.
export { debug, log, type LogLevel, startLog, stopLog } from "./log.ts";
export { isAbout, linesOf, type LogLine, newestLogs } from "./log_lines.ts";
export { createRedactor, isSecret, type Redactor, shapeOf } from "./redact.ts";
