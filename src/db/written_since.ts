import { openDatabase } from "./pglite/open.ts";

/** Each kind of thing that a restore loses, counted in the database as it is now. */
const LOST: readonly [string, string][] = [
  ["workflow runs that began", "select count(*)::int as n from workflow_run where created_at > $1"],
  [
    "workflow runs that went on",
    "select count(*)::int as n from workflow_run where updated_at > $1 and created_at <= $1",
  ],
  ["recorded calls", "select count(*)::int as n from tool_call where at > $1"],
];

/** The things that were written into a database since a time, in words. Whoever calls holds its lock. */
export async function writtenSince(dataDir: string, at: number): Promise<string[]> {
  const db = await openDatabase(dataDir, { isLeftAlone: true }).catch(() => undefined);
  if (!db) return ["the database cannot be opened, so nothing in it can be counted"];
  try {
    const since = [new Date(at).toISOString()];
    const lines: string[] = [];
    for (const [name, sql] of LOST) {
      // A newer version may have other tables.
      const rows = await db.query<{ n: number }>(sql, since).catch(() => undefined);
      if (rows === undefined) lines.push(`${name}: they cannot be counted`);
      else if (rows[0]!.n > 0) lines.push(`${name}: ${rows[0]!.n}`);
    }
    return lines;
  } finally {
    await db.close();
  }
}
