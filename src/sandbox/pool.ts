import type { Cage } from "./cage.ts";

/** Cages that are ready before anybody needs them. */
export interface Pool {
  /** A cage for one run; another is made ready in its place. */
  take(): Promise<Cage>;
  /** Makes ready what should be. */
  warm(): void;
  close(): Promise<void>;
}

export function createPool(size: number, start: () => Promise<Cage>): Pool {
  const ready: Promise<Cage>[] = [];
  let isClosed = false;

  function warm(): void {
    while (!isClosed && ready.length < size) {
      const cage = start();
      ready.push(cage);
      // One that did not start, or died while it waited, is nobody's problem: the next is started when it is needed.
      const drop = () => {
        const at = ready.indexOf(cage);
        if (at >= 0) ready.splice(at, 1);
      };
      cage.then(({ exited }) => exited.then(drop), drop);
    }
  }

  return {
    warm,
    async take() {
      const cage = ready.shift() ?? start();
      // After the one that is taken has begun: two starts at once would only make it later.
      setTimeout(warm, REFILL_AFTER_MS);
      return await cage;
    },
    async close() {
      isClosed = true;
      await Promise.allSettled(ready.splice(0).map(async (cage) => await (await cage).kill()));
    },
  };
}

const REFILL_AFTER_MS = 5;
