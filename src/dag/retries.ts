/** What will be tried again after a while. */
export function createRetries() {
  const timers = new Set<ReturnType<typeof setTimeout>>();
  return {
    waiting: () => timers.size > 0,
    after(ms: number, again: () => void): void {
      const timer = setTimeout(() => {
        timers.delete(timer);
        again();
      }, ms);
      timers.add(timer);
    },
    clear(): void {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
