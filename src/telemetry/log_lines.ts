import { isObject } from "../model/mod.ts";
import { fs } from "../platform/start.ts";

/** A line of the log. */
export interface LogLine {
  readonly at: Date;
  readonly level: string;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const FILE = /^agentcards-\d{4}-\d{2}-\d{2}\.log$/;
/** The end of a file in which the last lines are looked for. */
const TAIL_BYTES = 4 * 1024 * 1024;

/** The names of the log files, the newest first. */
export async function newestLogs(dir: string): Promise<string[]> {
  try {
    const names = (await Array.fromAsync(fs.readDir(dir))).map(({ name }) => name).filter((name) => FILE.test(name));
    return names.sort().reverse();
  } catch (error) {
    if (fs.isNotFound(error)) return [];
    throw error;
  }
}

/** The whole lines of a file from an offset on, at most the last few megabytes, and where they end. */
export async function linesOf(path: string, from = 0): Promise<{ lines: LogLine[]; end: number }> {
  using file = await fs.open(path, { read: true });
  const { size } = await file.stat();
  const start = Math.max(from, size - TAIL_BYTES);
  const bytes = new Uint8Array(Math.max(0, size - start));
  await file.seek(start, 0);
  let filled = 0;
  for (let count; filled < bytes.length && (count = await file.read(bytes.subarray(filled))) !== null;) filled += count;
  const whole = bytes.subarray(0, bytes.subarray(0, filled).lastIndexOf(10) + 1);
  const lines = new TextDecoder().decode(whole).split("\n").flatMap((text) => parse(text) ?? []);
  return { lines, end: start + whole.length };
}

function parse(text: string): LogLine | undefined {
  try {
    const said: unknown = JSON.parse(text);
    if (!isObject(said)) return undefined;
    const { level, message, properties } = said;
    return {
      at: new Date(String(said["@timestamp"])),
      level: String(level).toLowerCase(),
      event: String(message),
      fields: isObject(properties) ? properties : {},
    };
  } catch {
    return undefined;
  }
}

/** True for a line about a server or one of its tools. */
export function isAbout({ server, servers, tool }: LogLine["fields"], name: string): boolean {
  return server === name || String(tool ?? "").startsWith(`${name}:`) ||
    String(servers ?? "").split(", ").includes(name);
}
