/**
 * How long rows are kept, and how many. Runs and stored results have their limits in the configuration (`limits`): they
 * are the user's own.
 */
export const KEPT = {
  /** Some 10 MB. */
  calls: { days: 90, rows: 100_000 },
  /** Figures by hour for so many days, then by day. */
  metrics: { hourDays: 14, days: 400 },
  /** Rows of each scope. */
  habits: { days: 180, rows: 50_000 },
  dependencies: { days: 180 },
  /** Vectors of texts that no tool has any more. */
  vectors: { days: 30, rows: 50_000 },
  /** Values behind tokens; rows of each server, those that were not seen for longest go first. */
  personalData: { days: 90, rows: 50_000 },
  /** Events of clients' hooks; some 50 MB. */
  hookEvents: { days: 30, rows: 50_000 },
} as const;

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export interface PrunerOptions<Limits> {
  readonly everyMs: number;
  /** Due earlier after so many new rows. */
  readonly everyRows?: number;
  prune(limits: Limits): Promise<unknown>;
}

export interface Pruner<Limits = void> {
  /** Says that rows were written; resolves after the pruning, where it was due. */
  written(count: number, limits: Limits): Promise<void>;
}

/** Removes old rows now and then: due at the first row that is written, then by time or by the number of new rows. */
export function createPruner<Limits = void>(
  { everyMs, everyRows = Infinity, prune }: PrunerOptions<Limits>,
): Pruner<Limits> {
  let prunedAt = -Infinity;
  let rows = 0;
  return {
    async written(count, limits) {
      rows += count;
      if (performance.now() - prunedAt < everyMs && rows < everyRows) return;
      [prunedAt, rows] = [performance.now(), 0];
      await prune(limits);
    },
  };
}
