import { AgentCardsError } from "../model/mod.ts";
import { installation } from "../platform/start.ts";
import type { Cage } from "./cage.ts";

/** Cages that are ready before anybody needs them. */
export interface Pool {
  /** A cage for one run; none when the run is given up before there is one. */
  take(signal: AbortSignal): Promise<Cage | undefined>;
  /** Makes ready what should be, at once. */
  refill(): void;
  close(): Promise<void>;
}

export function createPool(size: number, start: () => Promise<Cage>): Pool {
  const ready: Promise<Cage>[] = [];
  let isClosed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function refill(): void {
    clearTimeout(timer);
    timer = undefined;
    while (!isClosed && ready.length < size && !installation.isReplaced()) {
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

  async function next(): Promise<Cage> {
    for (let waiting = ready.shift(); waiting; waiting = ready.shift()) {
      const cage = await waiting.catch(() => undefined);
      if (cage && !cage.isGone()) return cage;
    }
    await installation.unchanged();
    return await start();
  }

  return {
    refill,
    async take(signal) {
      if (isClosed) throw new AgentCardsError("ENGINE_BUSY", "The engine is closing down");
      // Not now: starting another would hold up the one that is taken. Whoever takes it says when it is done.
      timer ??= setTimeout(refill, REFILL_AT_LAST_MS);
      const taken = next();
      const cancelled = Promise.withResolvers<undefined>();
      const cancel = () => cancelled.resolve(undefined);
      signal.addEventListener("abort", cancel, { once: true });
      if (signal.aborted) cancel();
      const cage = await Promise.race([taken, cancelled.promise]).finally(() =>
        signal.removeEventListener("abort", cancel)
      );
      if (!cage) taken.then((late) => late.kill(), () => {});
      return cage;
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await Promise.allSettled(ready.splice(0).map(async (cage) => await (await cage).kill()));
    },
  };
}

/** When code runs for longer, the next one should not have to wait for it. */
const REFILL_AT_LAST_MS = 50;
