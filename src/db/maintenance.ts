import { messageOf } from "../model/errors.ts";
import { log } from "../telemetry/log.ts";
import type { Database } from "./database.ts";

export interface MaintenanceOptions {
  ready(): Promise<Database | undefined>;
  /** True while work is under way that must not wait. */
  isBusy(): boolean;
  /** Told now and then while nothing goes on. */
  onIdle?(db: Database): Promise<void>;
  readonly everyMs?: number;
}

const LOOK_EVERY_MS = 5_000;
const MB = 1024 * 1024;
/** PGlite makes no checkpoint by itself: its log would grow for ever. */
const CHECKPOINT_AT = 16 * MB;
const CHECKPOINT_AT_LATEST = 48 * MB;
/** Dead rows that are worth a vacuum, when nothing goes on and at the latest. */
const DEAD_ROWS = 500;
const DEAD_ROWS_AT_LATEST = 5_000;

interface Growth {
  readonly log_bytes: string;
  readonly tables: readonly { readonly name: string; readonly dead: number }[] | null;
}

/** Keeps the files of the database small: checkpoints bound its log, vacuum gives the room of dead rows back. */
export function startMaintenance(options: MaintenanceOptions): { stop(): void } {
  const { ready, isBusy, onIdle, everyMs = LOOK_EVERY_MS } = options;
  let isLooking = false;
  let last = "";

  async function look(): Promise<void> {
    const db = await ready();
    if (!db) return;
    const [growth] = await db.query<Growth & { position: string }>(
      `select pg_current_wal_lsn() - redo_lsn as log_bytes, pg_current_wal_lsn()::text as position,
         (select json_agg(json_build_object('name', relname, 'dead', n_dead_tup)) from pg_stat_user_tables
          where n_dead_tup > $1 and n_dead_tup > n_live_tup / 10) as tables
       from pg_control_checkpoint()`,
      [DEAD_ROWS],
    );
    const isIdle = growth!.position === last && !isBusy();
    last = growth!.position;
    for (const { name, dead } of growth!.tables ?? []) {
      if (!isIdle && dead < DEAD_ROWS_AT_LATEST) continue;
      await db.exec(`vacuum ${name}`, { isLong: true, isLazy: true });
    }
    const bytes = Number(growth!.log_bytes);
    if (bytes > CHECKPOINT_AT_LATEST || (isIdle && bytes > CHECKPOINT_AT)) {
      await db.exec("checkpoint", { isLong: true, isLazy: true });
    }
    if (isIdle) await onIdle?.(db);
  }

  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    look().catch((error) => log("warning", "maintenance_failed", { reason: messageOf(error) }))
      .finally(() => isLooking = false);
  }, everyMs);
  Deno.unrefTimer(timer);
  return { stop: () => clearInterval(timer) };
}
