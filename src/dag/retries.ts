/** A call that was lost is retried; one whose condition does not hold yet is polled. */
type Kind = "retry" | "poll";

/** What will be tried again after a while. */
export function createRetries() {
  const timers = new Map<ReturnType<typeof setTimeout>, Kind>();
  return {
    /** Whether something will be tried again; `kind`: something of this kind. */
    waiting: (kind?: Kind) => kind === undefined ? timers.size > 0 : [...timers.values()].includes(kind),
    after(ms: number, again: () => void, kind: Kind = "retry"): void {
      const timer = setTimeout(() => {
        timers.delete(timer);
        again();
      }, ms);
      timers.set(timer, kind);
    },
    clear(): void {
      for (const timer of timers.keys()) clearTimeout(timer);
      timers.clear();
    },
  };
}
