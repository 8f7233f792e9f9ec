import { messageOf } from "../model/mod.ts";
import { stdio } from "../platform/start.ts";
import type { Logger, LogRecord, Sink } from "@logtape/logtape";
import { openDailyFile } from "./daily_file.ts";
import type { Redactor } from "./redact.ts";

export type LogLevel = "debug" | "info" | "warning" | "error";

export interface LogOptions {
  /** The folder of the daily files; none writes no file. */
  readonly directory?: string;
  readonly level: LogLevel;
  /** True if stderr gets the lines too. */
  readonly stderr: boolean;
  readonly redactor: Redactor;
}

const KEPT_DAYS = 14;
const encoder = new TextEncoder();

let logger: Logger | undefined;
let dispose: (() => Promise<void>) | undefined;

/** Starts logging: one JSON object per line, every line through the one redacting writer. */
export async function startLog(options: LogOptions): Promise<void> {
  // Loaded here: a client that waits for its handshake does not wait for a log.
  const { configure, getLogger, jsonLinesFormatter, ...logtape } = await import("@logtape/logtape");
  const formatter = (record: LogRecord) => escapeControls(options.redactor.redact(jsonLinesFormatter(record)));
  const sinks: Record<string, Sink> = {};
  if (options.directory) {
    const file = openDailyFile(options.directory, KEPT_DAYS);
    const write = (record: LogRecord) => file.write(formatter(record));
    sinks.file = Object.assign(write, { [Symbol.dispose]: file[Symbol.dispose] });
  }
  if (options.stderr) sinks.stderr = (record) => void stdio.stderr.writeSync(encoder.encode(formatter(record)));
  await configure({
    reset: true,
    sinks,
    loggers: [
      { category: "agentcards", lowestLevel: options.level, sinks: Object.keys(sinks) },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: [] },
    ],
  });
  logger = getLogger("agentcards");
  dispose = logtape.dispose;
}

/** JSON leaves C1 controls and Unicode's own line ends as they are; a terminal or a viewer would act on them. */
function escapeControls(line: string): string {
  return line.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Flushes and closes the log. */
export async function stopLog(): Promise<void> {
  logger = undefined;
  await dispose?.();
}

/** Writes one line, once logging has started; `fields` are data, never credentials or argument values. */
export function log(level: LogLevel, event: string, fields: Record<string, unknown> = {}): void {
  try {
    logger?.[level](event, fields);
  } catch (error) {
    // A full disk must not take a call down with it.
    stdio.stderr.writeSync(encoder.encode(`log: ${messageOf(error)}\n`));
  }
}

/** Writes one line for those who look closely; `fields` is only asked when somebody does. */
export function debug(event: string, fields: () => Record<string, unknown>): void {
  if (logger?.isEnabledFor("debug")) log("debug", event, fields());
}
