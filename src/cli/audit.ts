import { existsSync } from "node:fs";
import { locateHome } from "../config/mod.ts";
import { AgentCardsError, matchesPattern, oneLine } from "../model/mod.ts";
import { VERSION } from "../platform/mod.ts";
import { type AuditRow, type Head, parseHead, readHeads, readRows, toOcsf, verifyAudit } from "../policy/mod.ts";
import { ask } from "./ask.ts";
import { jsonLine } from "./json_out.ts";
import { table } from "./screen/table.ts";
import { duration, painter, type Terminal } from "./screen/terminal.ts";

export interface AuditCommand {
  readonly since?: string;
  readonly tool?: string;
  readonly follow?: boolean;
  readonly json?: boolean;
}

/** Without a time, so many of the newest rows are shown. */
const NEWEST = 50;
const LOOK_EVERY_MS = 500;

/** `agentcards audit`: the rows, oldest first. */
export async function showAudit(options: AuditCommand, terminal: Terminal): Promise<number> {
  const { audit } = locateHome();
  const fits = ({ tool }: AuditRow) => !options.tool || matchesPattern(options.tool, String(tool ?? ""));
  const since = options.since === undefined ? 0 : timeOf(options.since);
  const all = [...readRows(audit, { since })].filter(fits);
  const rows = options.since === undefined ? all.slice(-NEWEST) : all;
  const print = (shown: readonly AuditRow[]) => {
    if (options.json) { for (const row of shown) terminal.out(jsonLine(row)); }
    else if (shown.length) {
      terminal.out(table([HEAD, ...shown.map(cellsOf)], painter(terminal.color).bind(null, "bold")));
    }
  };
  if (rows.length === 0 && !options.json) terminal.out("No rows yet: every call through AgentCards gets one.\n");
  print(rows);
  if (all.length > rows.length && !options.json) {
    terminal.out(`\nThe newest ${rows.length} of ${all.length} rows; --since 7d shows those of a week.\n`);
  }
  if (!options.follow) return 0;
  let last = rows.at(-1)?.seq ?? 0;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    // Rows of the last minute are enough: each look comes half a second after the one before.
    const fresh = [...readRows(audit, { since: Date.now() - 60_000 })].filter((row) => row.seq > last && fits(row));
    print(fresh);
    last = fresh.at(-1)?.seq ?? last;
  }
}

const HEAD = ["row", "time", "outcome", "tool", "by", "took", "note"];

function cellsOf(row: AuditRow): string[] {
  const { seq, at, kind, tool, by, client, ms, outcome, code, rule, parent } = row;
  const note = [code, rule && `rule ${rule}`, parent, client].filter(Boolean).join(", ");
  return [
    String(seq),
    new Date(at).toISOString().replace("T", " ").slice(0, 19),
    String(outcome ?? kind),
    oneLine(String(tool ?? "–"), 48),
    String(by ?? "–"),
    typeof ms === "number" ? duration(ms) : "–",
    oneLine(note, 80),
  ];
}

export interface VerifyCommand {
  readonly head?: string;
  readonly json?: boolean;
}

/** `agentcards audit verify`: 1 if anything is not as it was written. */
export function verify(options: VerifyCommand, terminal: Terminal): Promise<number> {
  const { audit } = locateHome();
  const report = verifyAudit(audit, options.head === undefined ? [] : headsIn(options.head));
  const isGood = report.findings.length === 0;
  if (options.json) terminal.out(jsonLine({ ok: isGood, ...report }));
  else {
    const paint = painter(terminal.color);
    for (const { seq, problem } of report.findings) terminal.out(`${paint("red", "✗")} row ${seq} ${problem}\n`);
    const { rows, first, last, heads, unsigned } = report;
    const range = rows === 0 ? "no rows yet" : `${rows} rows, ${first} to ${last}, ${heads} signed heads`;
    terminal.out(isGood ? `${paint("green", "✓")} ${range}: nothing was changed, added or removed\n` : `${range}\n`);
    if (unsigned > 0) {
      terminal.out(
        `The ${unsigned} newest rows are not signed yet: a head is signed every 1,000 rows and every minute.\n`,
      );
    }
    if (options.head === undefined) {
      terminal.out(
        "Who can write your files can rewrite rows and key: compare with a head that is kept elsewhere (--head).\n",
      );
    }
  }
  return Promise.resolve(isGood ? 0 : 1);
}

/** Heads out of a file, or one as text. */
function headsIn(given: string): readonly Head[] {
  const { heads, broken } = existsSync(given) ? readHeads(given) : { heads: [parseHead(given)], broken: 0 };
  if (broken > 0 || heads.length === 0 || heads.some((head) => head === undefined)) {
    throw new AgentCardsError("USAGE", "--head is neither a file of heads nor the text of one", {
      hint: "A head is one line of JSON, as in the file `audit/heads` of the home.",
    });
  }
  return heads as Head[];
}

export interface ExportCommand {
  readonly format: "jsonl" | "ocsf";
  readonly since?: string;
}

/** `agentcards audit export`: rows for another program. */
export async function exportAudit({ format, since }: ExportCommand, terminal: Terminal): Promise<number> {
  const from = since === undefined ? 0 : timeOf(since);
  await ask({ method: "audit_export", params: { format } });
  for (const row of readRows(locateHome().audit, { since: from })) {
    terminal.out(jsonLine(format === "ocsf" ? toOcsf(row, VERSION) : row));
  }
  return 0;
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time in the past, as a duration or a date. */
export function timeOf(text: string): number {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const time = count === undefined ? Date.parse(text) : Date.now() - Number(count) * UNITS[unit!]!;
  if (Number.isFinite(time)) return time;
  throw new AgentCardsError("USAGE", `--since cannot be "${oneLine(text, 40)}"`, {
    hint: 'Write "30m", "12h", "7d" or a date such as 2026-11-18.',
  });
}
