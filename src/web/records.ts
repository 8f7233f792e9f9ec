import type { Home } from "../config/mod.ts";
import { matchesPattern } from "../model/mod.ts";
import { type AuditRow, readRows, verifyAudit } from "../policy/mod.ts";
import { isAbout, linesOf, newestLogs } from "../telemetry/mod.ts";
import { z } from "../../deps.ts";

const MOST_ROWS = 200;
const MOST_LINES = 500;

/** The parameters of what the dashboard reads from files by itself, so that the engine is not held up. */
export const RECORDS = {
  audit: z.strictObject({
    /** Rows with a lower number only. */
    before: z.number().int().optional(),
    since: z.number().optional(),
    tool: z.string().max(200).optional(),
    outcome: z.string().max(60).optional(),
    text: z.string().max(200).optional(),
  }),
  audit_verify: z.strictObject({}),
  log: z.strictObject({ server: z.string().max(64).optional() }),
} as const;

export type RecordName = keyof typeof RECORDS;

/** Reads the audit and the log of a home. */
export function createRecords(home: Pick<Home, "audit" | "logs">) {
  return {
    audit({ before = Infinity, since = 0, tool, outcome, text }: z.output<typeof RECORDS.audit>) {
      const newest: AuditRow[] = [];
      const wanted = text?.toLowerCase();
      for (const row of readRows(home.audit, { since })) {
        if (row.seq >= before) break;
        if (tool && !matchesPattern(tool, String(row.tool ?? ""))) continue;
        if (outcome && row.outcome !== outcome && row.kind !== outcome) continue;
        if (wanted && !JSON.stringify(row).toLowerCase().includes(wanted)) continue;
        newest.push(row);
        if (newest.length > MOST_ROWS) newest.shift();
      }
      return { rows: newest.reverse(), has_more: newest.length === MOST_ROWS };
    },
    audit_verify: () => verifyAudit(home.audit, []),
    async log({ server }: z.output<typeof RECORDS.log>) {
      const names = await newestLogs(home.logs);
      const lines = [];
      for (const name of names.slice(0, 2)) {
        const { lines: own } = await linesOf(`${home.logs}/${name}`);
        lines.unshift(...own.filter(({ fields }) => server === undefined || isAbout(fields, server)));
        if (lines.length >= MOST_LINES) break;
      }
      return lines.slice(-MOST_LINES).map(({ at, level, event, fields }) => ({
        at: at.getTime(),
        level,
        event,
        fields,
      }));
    },
  };
}
