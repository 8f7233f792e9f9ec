/** The times at which a trigger is due, as milliseconds of the epoch. */
export interface Timetable {
  /** The latest due time up to now that lies after the switching on. */
  last(now: number): number | undefined;
  /** The next due time after now. */
  next(now: number): number | undefined;
}

type Times = { readonly kind: "every"; readonly ms: number } | { readonly kind: "at"; readonly cron: string };

/** The times of a trigger that was switched on at `since`. A cron line is read in the time zone of the machine. */
export async function timetableOf(trigger: Times, since: number): Promise<Timetable> {
  if (trigger.kind === "every") return interval(trigger.ms, since);
  // Loaded when a workflow with a cron line is read.
  const { Cron } = await import("croner");
  const cron = new Cron(trigger.cron, { paused: true, mode: "5-part" });
  return {
    last(now) {
      // A previous run is one before the given second; a due time that is just now counts.
      const [found] = cron.previousRuns(1, new Date(now + 1_000 - now % 1_000));
      const at = found?.getTime();
      return at !== undefined && at > since && at <= now ? at : undefined;
    },
    next: (now) => cron.nextRun(new Date(now))?.getTime(),
  };
}

function interval(ms: number, since: number): Timetable {
  return {
    last(now) {
      const count = Math.floor((now - since) / ms);
      return count >= 1 ? since + count * ms : undefined;
    },
    next: (now) => since + (Math.max(0, Math.floor((now - since) / ms)) + 1) * ms,
  };
}
