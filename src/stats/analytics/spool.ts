import { mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { AnalyticsRow } from "./rows.ts";

/** Rows that wait for their database, in files of JSON lines. */
export interface Spool {
  /** Adds rows, on the disk when it resolves. False where there is no room: nothing was added. */
  add(rows: readonly AnalyticsRow[]): Promise<boolean>;
  /** The rows of the oldest file, and the way to remove it; undefined where nothing waits. */
  oldest(): Promise<{ readonly rows: readonly AnalyticsRow[]; remove(): Promise<void> } | undefined>;
  bytes(): Promise<number>;
}

export interface SpoolOptions {
  readonly folder: string;
  /** A file that is as large is followed by another one. */
  readonly fileBytes?: number;
  /** No more is kept, all together. */
  readonly mostBytes?: number;
}

const FILE_BYTES = 4 * 1024 * 1024;
const MOST_BYTES = 1024 * 1024 * 1024;
const NAME = /^spool-(\d{8})\.jsonl$/;

export function createSpool({ folder, fileBytes = FILE_BYTES, mostBytes = MOST_BYTES }: SpoolOptions): Spool {
  const names = async () => (await readdir(folder).catch(() => [])).filter((name) => NAME.test(name)).sort();
  const sizeOf = async (name: string) => (await stat(join(folder, name)).catch(() => undefined))?.size ?? 0;

  async function bytes(): Promise<number> {
    const sizes = await Promise.all((await names()).map(sizeOf));
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** The file that more is added to. */
  async function newest(): Promise<string> {
    const last = (await names()).at(-1);
    if (last !== undefined && await sizeOf(last) < fileBytes) return last;
    const number = last === undefined ? 1 : Number(NAME.exec(last)![1]) + 1;
    return `spool-${String(number).padStart(8, "0")}.jsonl`;
  }

  return {
    bytes,
    async add(rows) {
      // A line that an engine did not finish, because it was killed, must not swallow the next one.
      const text = `\n${rows.map((row) => JSON.stringify(row)).join("\n")}\n`;
      if (await bytes() + text.length > mostBytes) return false;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const file = await open(join(folder, await newest()), "a", 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      return true;
    },
    async oldest() {
      const [name] = await names();
      if (name === undefined) return undefined;
      const path = join(folder, name);
      const text = await readFile(path, "utf8");
      return { rows: text.split("\n").flatMap((line) => rowIn(line) ?? []), remove: () => rm(path, { force: true }) };
    },
  };
}

function rowIn(line: string): AnalyticsRow | undefined {
  try {
    return line === "" ? undefined : JSON.parse(line) as AnalyticsRow;
  } catch {
    // It was not finished: the cursor still stands before it, so it is read again.
    return undefined;
  }
}
