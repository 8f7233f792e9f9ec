import { getTimeRotatingFileSink } from "@logtape/file";
import { configure, dispose, getLogger, jsonLinesFormatter, type LogRecord, type Sink } from "@logtape/logtape";
import { messageOf } from "../model/errors.ts";
import type { Redactor } from "./redact.ts";

export type LogLevel = "debug" | "info" | "warning" | "error";

export interface LogOptions {
  /** The folder of the daily files; none writes no file. */
  readonly directory?: string;
  readonly level: LogLevel;
  /** Whether stderr gets the lines too. */
  readonly stderr: boolean;
  readonly redactor: Redactor;
}

const KEPT = 14 * 86_400_000;
const encoder = new TextEncoder();

/** Starts logging: one JSON object per line, every line through the one redacting writer. */
export async function startLog(options: LogOptions): Promise<void> {
  const formatter = (record: LogRecord) => options.redactor.redact(jsonLinesFormatter(record));
  const sinks: Record<string, Sink> = {};
  if (options.directory) {
    sinks.file = getTimeRotatingFileSink({
      directory: options.directory,
      filename: (date) => `agentcards-${date.toISOString().slice(0, 10)}.log`,
      maxAgeMs: KEPT,
      bufferSize: 0,
      formatter,
    });
  }
  if (options.stderr) sinks.stderr = (record) => void Deno.stderr.writeSync(encoder.encode(formatter(record)));
  await configure({
    reset: true,
    sinks,
    loggers: [
      { category: "agentcards", lowestLevel: options.level, sinks: Object.keys(sinks) },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: [] },
    ],
  });
}

/** Flushes and closes the log. */
export async function stopLog(): Promise<void> {
  await dispose();
}

/** Writes one line; `fields` are data, never credentials or argument values. */
export function log(level: LogLevel, event: string, fields: Record<string, unknown> = {}): void {
  try {
    getLogger("agentcards")[level](event, fields);
  } catch (error) {
    // A full disk must not take a call down with it.
    Deno.stderr.writeSync(encoder.encode(`log: ${messageOf(error)}\n`));
  }
}
