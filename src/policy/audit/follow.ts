import { open } from "node:fs/promises";
import type { AuditRow } from "./row.ts";
import { segmentsOf } from "./segments.ts";

/** Reads the rows of an audit in their order, while others are written. */
export interface AuditReader {
  /** The next rows, at most so many; none where all were read. */
  read(most: number): Promise<AuditRow[]>;
}

const CHUNK = 256 * 1024;
const NEWLINE = 0x0a;

/** Begins behind a row, or behind the end of an audit that was removed and began anew. */
export function followAudit(folder: string, after: number): AuditReader {
  let last = after;
  let place: { readonly path: string; at: number } | undefined;
  let waiting: AuditRow[] = [];

  /** The segment that has the next row: the last one that begins at or before it, else the first that is left. */
  function find(): string | undefined {
    const segments = segmentsOf(folder);
    return (segments.findLast(({ first }) => first <= last + 1) ?? segments[0])?.path;
  }

  /** Reads one part of the present segment. False at its end. */
  async function readPart(): Promise<boolean> {
    const file = await open(place!.path, "r");
    try {
      const { buffer, bytesRead } = await file.read(new Uint8Array(CHUNK), 0, CHUNK, place!.at);
      const part = buffer.subarray(0, bytesRead);
      const end = part.lastIndexOf(NEWLINE) + 1;
      // A line without an end is still being written, or was cut off by the end of its engine.
      if (end === 0) return false;
      place!.at += end;
      const lines = new TextDecoder().decode(part.subarray(0, end)).split("\n");
      waiting.push(...lines.flatMap((line) => rowIn(line) ?? []).filter(({ seq }) => seq > last));
      return true;
    } finally {
      await file.close();
    }
  }

  return {
    async read(most) {
      while (waiting.length < most) {
        if (!place || !await hasMore(place)) {
          const path = find();
          if (path === undefined || path === place?.path) break;
          place = { path, at: 0 };
        }
        if (!await readPart()) break;
        last = Math.max(last, waiting.at(-1)?.seq ?? last);
      }
      const rows = waiting.slice(0, most);
      waiting = waiting.slice(most);
      return rows;
    },
  };
}

async function hasMore({ path, at }: { readonly path: string; readonly at: number }): Promise<boolean> {
  const file = await open(path, "r").catch(() => undefined);
  if (!file) return false;
  try {
    return (await file.stat()).size > at;
  } finally {
    await file.close();
  }
}

function rowIn(line: string): AuditRow | undefined {
  try {
    return line === "" ? undefined : JSON.parse(line) as AuditRow;
  } catch {
    return undefined;
  }
}
