import { messageOf } from "../../model/mod.ts";
import { log } from "../../telemetry/mod.ts";
import { unrefTimer } from "../../platform/start.ts";
import type { Database } from "../database.ts";

export interface MaintenanceOptions {
  ready(): Promise<Database | undefined>;
  /** True while work is under way that must not wait. */
  isBusy(): boolean;
  /** Told now and then while nothing goes on. */
  onIdle?(db: Database): Promise<void>;
  readonly everyMs?: number;
}

const LOOK_EVERY_MS = 5_000;
/** While rows are written: the log grows by up to 30 MB a second. */
const LOOKS_UNDER_LOAD = 5;
const MB = 1024 * 1024;
/** PGlite makes no checkpoint by itself: its log would grow for ever. */
const CHECKPOINT_AT = 16 * MB;
const CHECKPOINT_AT_LATEST = 48 * MB;
/** Dead rows that are worth a vacuum, or their bytes, when nothing goes on and at the latest. */
const WORTH = { rows: 500, bytes: MB };
const WORTH_AT_LATEST = { rows: 5_000, bytes: 8 * MB };

interface Dead {
  readonly rows: number;
  /** Their part of the table, with the values that are kept outside of its rows. */
  readonly bytes: number;
}

interface Growth {
  readonly log_bytes: string;
  readonly tables: readonly (Dead & { readonly name: string })[] | null;
}

/** Keeps the files of the database small: checkpoints bound its log, vacuum gives the room of dead rows back. */
export function startMaintenance(options: MaintenanceOptions): { stop(): void } {
  const { ready, isBusy, onIdle, everyMs = LOOK_EVERY_MS } = options;
  let last = { position: "", at: -Infinity };
  let timer: ReturnType<typeof setTimeout>;
  let isStopped = false;

  /** Returns the time until the next look. */
  async function look(): Promise<number> {
    const db = await ready();
    if (!db) return everyMs;
    const [growth] = await db.query<Growth & { position: string }>(
      `select pg_current_wal_lsn() - redo_lsn as log_bytes, pg_current_wal_lsn()::text as position,
         (select json_agg(json_build_object('name', relname, 'rows', n_dead_tup,
            'bytes', pg_table_size(relid) * n_dead_tup / (n_live_tup + n_dead_tup))) from pg_stat_user_tables
          where n_dead_tup > n_live_tup / 10 and n_dead_tup > 0) as tables
       from pg_control_checkpoint()`,
      [],
      // Planning these views takes longer than reading them.
      { isOften: true },
    );
    const { position } = growth!;
    if (position !== last.position) last = { position, at: performance.now() };
    const quietMs = performance.now() - last.at;
    const isIdle = quietMs >= everyMs && !isBusy();
    const { rows, bytes: room } = isIdle ? WORTH : WORTH_AT_LATEST;
    for (const { name, ...dead } of growth!.tables ?? []) {
      if (dead.rows < rows && dead.bytes < room) continue;
      await db.exec(`vacuum ${name}`, { isLong: true, isLazy: true });
    }
    const bytes = Number(growth!.log_bytes);
    if (bytes > CHECKPOINT_AT_LATEST || (isIdle && bytes > CHECKPOINT_AT)) {
      await db.exec("checkpoint", { isLong: true, isLazy: true });
    }
    if (isIdle) await onIdle?.(db);
    return quietMs >= everyMs ? everyMs : everyMs / LOOKS_UNDER_LOAD;
  }

  async function keepLooking(): Promise<void> {
    const next = await look().catch((error) => {
      log("warning", "maintenance_failed", { reason: messageOf(error) });
      return everyMs;
    });
    if (!isStopped) later(next);
  }

  function later(ms: number): void {
    timer = setTimeout(() => void keepLooking(), ms);
    unrefTimer(timer);
  }

  later(everyMs);
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
