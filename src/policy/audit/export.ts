import type { AuditRow } from "./row.ts";
import { linesOf, segmentsOf } from "./segments.ts";

/** Rows of a folder, oldest first. A line that is no row is left out: `audit verify` tells it. */
export function* readRows(folder: string, { since = 0 }: { since?: number } = {}): Generator<AuditRow> {
  for (const { path } of segmentsOf(folder)) {
    for (const { line, isUnfinished } of linesOf(path)) {
      const row = isUnfinished ? undefined : parseRow(line);
      if (row && row.at >= since) yield row;
    }
  }
}

function parseRow(line: string): AuditRow | undefined {
  try {
    return JSON.parse(line) as AuditRow;
  } catch {
    return undefined;
  }
}

const SUCCESS = 1;
const FAILURE = 2;
const UNKNOWN = 0;

/** A row as OCSF has it: class 6003, API Activity, with the record's integrity. */
export function toOcsf(row: AuditRow, version: string): Record<string, unknown> {
  const { outcome, tool, client, folder, parent, hash, prev } = row;
  return {
    class_uid: 6003,
    category_uid: 6,
    // Other: a tool is neither created nor read.
    activity_id: 99,
    type_uid: 600399,
    severity_id: row.kind === "decision" ? 3 : 1,
    time: row.at,
    status_id: outcome === "ok" ? SUCCESS : outcome === undefined ? UNKNOWN : FAILURE,
    metadata: { version: "1.6.0", product: { name: "AgentCards", version }, uid: hash, sequence: row.seq },
    actor: { app_name: client, user: { name: row.by } },
    api: { operation: row.method ?? "tools/call", ...tool !== undefined && { service: { name: String(tool) } } },
    ...parent !== undefined && { metadata_parent: parent },
    attestation: { entry_hash: hash, prev_entry_hash: prev },
    unmapped: { ...row, folder },
  };
}
