/** The requests of all connections that are under way, for whoever waits until there are none. */
export interface Activity {
  /** Notes that a request began, and gives the function that notes its end. */
  begin(): () => void;
  /** How many are under way. */
  open(): number;
  /** When the last one ended, by `performance.now()`. */
  endedAt(): number;
}

export function createActivity(now: () => number = () => performance.now()): Activity {
  let open = 0;
  let endedAt = -Infinity;
  return {
    begin() {
      open++;
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        open--;
        endedAt = now();
      };
    },
    open: () => open,
    endedAt: () => endedAt,
  };
}
