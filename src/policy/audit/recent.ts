import type { AuditRow } from "./row.ts";
import { changedAt, linesOf, segmentsOf } from "./segments.ts";

/** The rows of a folder since a time, oldest first; segments that end before it are not read. */
export function* recentRows(folder: string, since: number): Generator<AuditRow> {
  for (const { path } of segmentsOf(folder)) {
    if (changedAt(path) < since) continue;
    for (const { line, isUnfinished } of linesOf(path)) {
      const row = isUnfinished ? undefined : parsed(line, since);
      if (row) yield row;
    }
  }
}

const AT = /"at":(\d+)/;

/** A row that is new enough; the time is looked up before the rest is parsed. */
function parsed(line: string, since: number): AuditRow | undefined {
  const [, at] = AT.exec(line) ?? [];
  if (at !== undefined && Number(at) < since) return undefined;
  try {
    const row = JSON.parse(line) as AuditRow;
    return row.at >= since ? row : undefined;
  } catch {
    return undefined;
  }
}
