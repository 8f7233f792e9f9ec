import process from "node:process";
import { CAGE_LIMITS } from "./limits.ts";

/** The most runs at once, and the memory that they may have together. */
export interface DoorLimits {
  readonly runs: number;
  readonly memoryMb: number;
}

export interface Entrant {
  readonly memoryMb: number;
  /** Gives up when there is no room by then. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

export interface Door {
  /** Resolves to a function that gives the room back; to a reason where there was no room. */
  enter(entrant: Entrant): Promise<(() => void) | "cancelled" | "full">;
  readonly limits: DoorLimits;
  /** The runs and the memory that are in use. */
  taken(): DoorLimits;
}

/** More runs only take the processor from each other. */
const MOST_RUNS = Math.max(8, 2 * navigator.hardwareConcurrency);

/** Half of the memory that this machine, or the container around this process, has; at least what one usual run needs. */
export function doorLimits(): DoorLimits {
  const bytes = Math.min(Deno.systemMemoryInfo().total, process.constrainedMemory() || Infinity);
  return { runs: MOST_RUNS, memoryMb: Math.max(CAGE_LIMITS.memoryMb, Math.floor(bytes / 2 / 1_048_576)) };
}

/** Lets runs in while there is room. Those that find none wait; a small one may pass a large one that does not fit yet. */
export function createDoor(limits: DoorLimits): Door {
  const line = new Set<{ readonly memoryMb: number; admit(): void }>();
  let [runs, memoryMb] = [0, 0];

  const fits = (wanted: number) => runs < limits.runs && memoryMb + wanted <= limits.memoryMb;
  /** Takes room; the function that gives it back works once. */
  function take(wanted: number): () => void {
    runs++;
    memoryMb += wanted;
    let isGivenBack = false;
    return () => {
      if (isGivenBack) return;
      isGivenBack = true;
      runs--;
      memoryMb -= wanted;
      for (const waiting of [...line]) if (fits(waiting.memoryMb)) waiting.admit();
    };
  }

  return {
    limits,
    taken: () => ({ runs, memoryMb }),
    async enter({ memoryMb: wanted, waitMs, signal }) {
      if (signal.aborted) return "cancelled";
      if (fits(wanted)) return take(wanted);
      if (wanted > limits.memoryMb) return "full";
      const { promise, resolve } = Promise.withResolvers<(() => void) | "cancelled" | "full">();
      const waiting = { memoryMb: wanted, admit: () => end(take(wanted)) };
      const end = (outcome: (() => void) | "cancelled" | "full") => {
        line.delete(waiting);
        resolve(outcome);
      };
      const cancel = () => end("cancelled");
      line.add(waiting);
      signal.addEventListener("abort", cancel, { once: true });
      const timer = setTimeout(() => end("full"), waitMs);
      return await promise.finally(() => {
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
      });
    },
  };
}
