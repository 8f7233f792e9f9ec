import type { Database } from "../db/mod.ts";
import { createPruner, HOUR_MS, isNoDatabase, KEPT } from "../db/start.ts";
import { createQuietWork, messageOf } from "../model/mod.ts";
import { unrefTimer } from "../platform/start.ts";
import { log } from "../telemetry/mod.ts";
import type { Metrics } from "../stats/mod.ts";
import { createCallStore, type FiledCall } from "./stores/call_store.ts";
import type { CallRecord } from "./observer.ts";

/** Files calls in the database, a batch at a time, off everyone's way. */
export interface CallLog {
  record(call: CallRecord): void;
  /** True if a tool is known to have been called with success before. */
  wasUsed(tool: string): boolean;
  /** True if a call ended a moment ago: work that nobody waits for is better done later. */
  isBusy(): boolean;
  flush(): Promise<void>;
}

/** Calls are filed when none has come for a moment, or after a while at the latest: writing competes with calling. */
const QUIET_MS = 1_000;
const LATEST_MS = 15_000;
const BUSY_MS = 5_000;
const MAX_WAITING = 50_000;
const MOST_USED = 10_000;
const NEWEST = 20_000;

export function createCallLog(
  db: Database,
  { mostKept = KEPT.calls.rows, metrics }: { mostKept?: number; metrics?: Pick<Metrics, "add"> } = {},
): CallLog {
  const store = createCallStore(db);
  const pruner = createPruner({
    everyMs: HOUR_MS,
    everyRows: mostKept / 10,
    prune: () => store.prune({ days: KEPT.calls.days, rows: mostKept }),
  });
  let waiting: FiledCall[] = [];
  let again: ReturnType<typeof setTimeout> | undefined;
  const filing = createQuietWork({ quietMs: QUIET_MS, latestMs: LATEST_MS }, () => void flush());
  let lastCall = -Infinity;
  const used = new Set<string>();
  let loading: Promise<void> | undefined;
  /** In the background: until it is done, what was called in this engine counts. */
  const load = () => store.usedTools(NEWEST).then((tools) => tools.forEach((tool) => used.add(tool)), () => {});

  async function flush(): Promise<void> {
    filing.cancel();
    if (waiting.length === 0) return;
    const batch = waiting;
    waiting = [];
    let isFiled = false;
    try {
      await store.add(batch);
      isFiled = true;
      await metrics?.add(batch);
      await pruner.written(batch.length);
    } catch (error) {
      // `status` tells about a database that cannot be used. Nothing of the batch was written: it waits for the next time.
      if (isNoDatabase(error) && !isFiled) {
        waiting = [...batch, ...waiting].slice(-MAX_WAITING);
        clearTimeout(again);
        unrefTimer(again = setTimeout(() => void flush(), LATEST_MS));
      } else if (!isNoDatabase(error)) {
        log("warning", "calls_not_recorded", { calls: batch.length, reason: messageOf(error) });
      }
    }
  }

  return {
    wasUsed(tool) {
      loading ??= load();
      return used.has(tool);
    },
    isBusy: () => performance.now() - lastCall < BUSY_MS,
    record(call) {
      if (call.ok && used.size < MOST_USED) used.add(call.tool);
      // Each keeps its time, however late it is filed.
      if (waiting.length < MAX_WAITING) waiting.push({ ...call, at: Date.now() });
      lastCall = performance.now();
      filing.touch();
    },
    flush,
  };
}
