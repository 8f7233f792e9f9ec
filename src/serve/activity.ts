/** A count of the requests of all connections: plain numbers, since every call counts itself in and out. */
export interface Activity {
  /** The requests under way. */
  open: number;
  /** The time at which the last one ended, by `performance.now()`. */
  endedAt: number;
}

export function createActivity(): Activity {
  return { open: 0, endedAt: -Infinity };
}
