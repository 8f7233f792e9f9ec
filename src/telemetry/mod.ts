// The door of this room: other rooms import this file only.
export { debug, log, type LogLevel, startLog, stopLog } from "./log.ts";
export { isAbout, linesOf, type LogLine, newestLogs } from "./log_lines.ts";
export { createRedactor, isSecret, type Redactor, shapeOf } from "./redact.ts";
export { isTraced, type Operation, startTraces, type TokenFigures, type Traced, type Traces } from "./traces/traces.ts";
export type { RunTrace, RunTraces } from "./traces/run_traces.ts";
export { type TraceContext } from "./traces/trace_context.ts";
export { untraced } from "./traces/untraced.ts";
