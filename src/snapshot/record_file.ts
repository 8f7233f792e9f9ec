import { isObject } from "../model/mod.ts";
import { syncPath } from "../platform/mod.ts";
import { fs } from "../platform/start.ts";
import { dirname } from "node:path";

/** A row of what is recorded for a run, in the order in which it happened. */
export type Row =
  | { readonly kind: "begun"; readonly root: string }
  | {
    readonly kind: "before";
    readonly span: number;
    readonly task: string;
    readonly at: number;
    readonly manifest: string;
    readonly nested: readonly string[];
    readonly leftOut: number;
  }
  | {
    readonly kind: "after";
    readonly span: number;
    readonly at: number;
    readonly manifest: string;
    /** Files that are new in it although they are older: they were ignored before, or lay elsewhere. */
    readonly older: readonly string[];
    /** True if it was taken long after the task's end, because its engine stopped. */
    readonly isLate?: true;
  }
  | { readonly kind: "undone" | "redone"; readonly spans: readonly number[]; readonly at: number };

/** Adds rows to a file; they survive a power cut once this resolves. */
export async function addRows(path: string, rows: readonly Row[]): Promise<void> {
  const isNew = !await fs.lstat(path).then(() => true, () => false);
  if (isNew) await fs.mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await fs.open(path, { append: true, create: true, mode: 0o600 });
  try {
    const bytes = new TextEncoder().encode(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    for (let written = 0; written < bytes.length;) written += await file.write(bytes.subarray(written));
    await file.syncData();
  } finally {
    file.close();
  }
  if (isNew) await syncPath(dirname(path));
}

/** The rows of a file, none where there is no file. A last line that a crash cut off is left out. */
export async function readRows(path: string): Promise<Row[]> {
  const text = await fs.readTextFile(path).catch((error) => {
    if (fs.isNotFound(error)) return "";
    throw error;
  });
  const lines = text.split("\n");
  const cutOff = lines.pop();
  const rows = lines.flatMap((line, i) => {
    try {
      const row = JSON.parse(line);
      return isObject(row) ? [row as unknown as Row] : [];
    } catch (cause) {
      throw new Error(`Line ${i + 1} of ${path} is damaged`, { cause });
    }
  });
  // The next row would stand on the same line.
  if (cutOff) await fs.writeTextFile(path, lines.map((line) => `${line}\n`).join(""), { mode: 0o600 });
  return rows;
}
