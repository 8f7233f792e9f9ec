import { log } from "../telemetry/mod.ts";
import { system, unrefTimer } from "../platform/start.ts";
import v8 from "node:v8";
import vm from "node:vm";

export interface SweepOptions {
  /** The memory of values, garbage included. */
  readonly used: () => number;
  readonly collect: () => void;
  readonly now: () => number;
  /** True while work is under way that must not be delayed. */
  readonly isBusy: () => boolean;
}

const MB = 1024 * 1024;
const LOOK_EVERY_MS = 5_000;
/** Less garbage than this is not worth the time that collecting it takes: 50 to 100 ms. */
const WORTH_BYTES = 8 * MB;
/** Memory that grows by less between two looks is not due to work. */
const QUIET_BYTES = MB / 2;
/** The longest time without a pause between calls; then a collection delays one of them. */
const LATEST_MS = 60_000;

/** Decides, each time it looks, whether garbage is to be collected now: where nobody would notice, else after a while. */
export function createSweeper({ used, collect, now, isBusy }: SweepOptions): { look(): void } {
  let [floor, last, sweptAt] = [0, Infinity, now()];
  return {
    look() {
      const bytes = used();
      const isQuiet = Math.abs(bytes - last) < QUIET_BYTES;
      last = bytes;
      // V8 has been here itself.
      floor = Math.min(floor, bytes);
      const isDue = isQuiet || now() - sweptAt >= LATEST_MS;
      if (bytes - floor < WORTH_BYTES || !isDue || isBusy()) return;
      const began = now();
      collect();
      [floor, last, sweptAt] = [used(), Infinity, now()];
      log("debug", "memory_swept", { from_mb: inMb(bytes), to_mb: inMb(floor), ms: Math.round(sweptAt - began) });
    },
  };
}

/**
 * Gives memory back now and then. An engine runs all day and makes little garbage at a time: V8 would let it pile up to
 * more than is in use. Flags that say otherwise would have to be those of every process: code compiled under others is
 * compiled again at each start.
 */
export function sweepNowAndThen(isBusy: () => boolean): void {
  const sweeper = createSweeper({
    used: () => system.memoryUsage().heapUsed,
    collect: collector(),
    now: () => performance.now(),
    isBusy,
  });
  // No reason for a process to go on.
  unrefTimer(setInterval(sweeper.look, LOOK_EVERY_MS));
}

/** Only a context that is made after the flag was set has the function; there is no other way to it at run time. */
function collector(): () => void {
  v8.setFlagsFromString("--expose-gc");
  return vm.runInNewContext("gc");
}

const inMb = (bytes: number) => Math.round(bytes / MB);
