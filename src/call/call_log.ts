import type { Database } from "../db/mod.ts";
import { messageOf } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";
import type { CallRecord } from "./observer.ts";

/** Files calls in the database, a batch at a time, off everyone's way. */
export interface CallLog {
  record(call: CallRecord): void;
  /** Whether a tool is known to have been called with success before. */
  wasUsed(tool: string): boolean;
  flush(): Promise<void>;
}

/** Calls are filed when none has come for a moment, or after a while at the latest: writing competes with calling. */
const QUIET_MS = 1_000;
const LATEST_MS = 15_000;
const MAX_WAITING = 50_000;
const MOST_USED = 10_000;
const NEWEST = 20_000;
const KEPT_DAYS = 90;
/** Some 10 MB. */
const MOST_KEPT = 100_000;
const PRUNE_EVERY_MS = 3_600_000;

export function createCallLog(
  database: Promise<Database | undefined>,
  { mostKept = MOST_KEPT }: { mostKept?: number } = {},
): CallLog {
  let waiting: CallRecord[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastCall = 0;
  let firstWaiting = 0;
  let prunedAt = -Infinity;
  let filedSince = 0;
  const used = new Set<string>();
  let loading: Promise<void> | undefined;
  /** In the background: until it is done, what was called in this engine counts. */
  const load = () =>
    database.then(async (db) => {
      const rows = await db?.query<{ tool: string }>(
        "select distinct tool from (select tool, ok from tool_call order by at desc limit $1) as newest where ok",
        [NEWEST],
      );
      for (const { tool } of rows ?? []) used.add(tool);
    }).catch(() => {});

  function whenQuiet(): void {
    const now = performance.now();
    if (now - lastCall >= QUIET_MS || now - firstWaiting >= LATEST_MS) void flush();
    else timer = setTimeout(whenQuiet, QUIET_MS);
  }

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return;
    const batch = waiting;
    waiting = [];
    try {
      const db = await database;
      await db?.query(
        `insert into tool_call (tool, ms, ok, bytes, made_by, client, folder, run, task)
         select tool, ms, ok, bytes, "by", client, folder, run, task from jsonb_to_recordset($1::jsonb) as t(
           tool text, ms real, ok boolean, bytes integer, "by" text, client text, folder text, run text, task text)`,
        [batch],
        { isLazy: true },
      );
      filedSince += batch.length;
      if (performance.now() - prunedAt < PRUNE_EVERY_MS && filedSince < mostKept / 10) return;
      [prunedAt, filedSince] = [performance.now(), 0];
      await db?.query(
        `delete from tool_call where at < now() - $1 * interval '1 day'
           or at < (select at from tool_call order by at desc offset $2 limit 1)`,
        [KEPT_DAYS, mostKept],
      );
    } catch (error) {
      log("warning", "calls not recorded", { calls: batch.length, reason: messageOf(error) });
    }
  }

  return {
    wasUsed(tool) {
      loading ??= load();
      return used.has(tool);
    },
    record(call) {
      if (call.ok && used.size < MOST_USED) used.add(call.tool);
      if (waiting.length < MAX_WAITING) waiting.push(call);
      lastCall = performance.now();
      if (timer !== undefined) return;
      firstWaiting = lastCall;
      timer = setTimeout(whenQuiet, QUIET_MS);
    },
    flush,
  };
}
