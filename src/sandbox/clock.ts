/** Counts the time of a run, except where it is told to stand still. */
export interface Clock {
  /** Stands still until what it gives is called; several may do so at once. */
  pause(): () => void;
  stop(): void;
}

/** Nobody thinks for longer. */
const MOST_PAUSED_MS = 600_000;

export function createClock(limitMs: number, onOver: () => void): Clock {
  let left = limitMs;
  let since = performance.now();
  let pauses = 0;
  let mayPause = MOST_PAUSED_MS;
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined = setTimeout(onOver, left);

  return {
    pause() {
      if (++pauses === 1) {
        clearTimeout(timer);
        left -= performance.now() - since;
        since = performance.now();
        timer = setTimeout(onOver, mayPause);
      }
      let isGoingOn = false;
      return () => {
        if (isGoingOn) return;
        isGoingOn = true;
        if (--pauses > 0 || isStopped) return;
        clearTimeout(timer);
        mayPause -= performance.now() - since;
        since = performance.now();
        timer = setTimeout(onOver, Math.max(0, left));
      };
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
