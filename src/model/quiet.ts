/** A piece of work that waits for a pause in what goes on. */
export interface QuietWork {
  /** Something went on: the work is done once it has been quiet for a while. */
  touch(): void;
  /** The work is not done any more, until the next touch. */
  cancel(): void;
}

/** Does `work` once nothing has gone on for `quietMs`, at the latest `latestMs` after the first touch. */
export function createQuietWork(
  { quietMs, latestMs }: { readonly quietMs: number; readonly latestMs: number },
  work: () => void,
): QuietWork {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let [first, last] = [0, 0];

  // One timer that looks at the clock when it fires: resetting it with every touch would cost more than most touches.
  function look(): void {
    const now = performance.now();
    const rest = Math.min(last + quietMs, first + latestMs) - now;
    timer = undefined;
    if (rest <= 0) work();
    else timer = setTimeout(look, Math.ceil(rest));
  }

  return {
    touch() {
      last = performance.now();
      if (timer !== undefined) return;
      first = last;
      timer = setTimeout(look, Math.min(quietMs, latestMs));
    },
    cancel() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
