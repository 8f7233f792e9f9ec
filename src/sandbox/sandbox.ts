import { AgentCardsError } from "../model/errors.ts";
import { type CageOutcome, type CageRequest, type CageTools, startCage } from "./cage.ts";
import type { Cgroups } from "./cgroup.ts";
import type { Level } from "./command.ts";
import { CAGE_LIMITS, type CageLimits } from "./limits.ts";
import { createDoor } from "./semaphore.ts";
import { createPool } from "./pool.ts";

export interface SandboxOptions {
  readonly level: Level;
  /** Needed for level 3. */
  readonly groups?: Cgroups | undefined;
  /** The program that makes a process die with us, where there is one. */
  readonly setpriv?: string | undefined;
  readonly ready?: number;
  /** Where the cages have their folders; what is in there is thrown away. */
  readonly folder?: string;
  /** Tells who kills what is left when we die. */
  watch(pid: number): void;
  forget(pid: number): void;
}

/** Runs untrusted code, each time in a process of its own; returns what came of it and never throws for it. */
export interface Sandbox {
  readonly level: Level;
  run(request: CageRequest, tools: CageTools, options: RunCodeOptions): Promise<CageOutcome>;
  close(): Promise<void>;
}

export interface RunCodeOptions {
  readonly signal: AbortSignal;
  /** Below this nothing runs at all. */
  readonly minimumLevel: number;
  readonly limits?: Partial<CageLimits>;
}

/** Of code that was given up before it began. */
const CANCELLED: CageOutcome = {
  result: { ok: false, error: { type: "TimeoutError", message: "The run was cancelled" } },
  logs: [],
  metrics: { ms: 0, calls: 0, peakMb: 0, bytesIn: 0 },
};
const READY = 2;
const REFILL_AFTER_MS = 3;
/** More only take the processor from each other, and each may hold half a gigabyte. */
const MOST_AT_ONCE = Math.max(8, 2 * navigator.hardwareConcurrency);

export function createSandbox(options: SandboxOptions): Sandbox {
  const { level, groups, setpriv, ready = READY, folder, watch, forget } = options;
  const start = ({ memoryMb, cpuMs }: CageLimits) =>
    startCage({ level, memoryMb, cpuMs, setpriv, watch, forget, ...groups && { groups }, ...folder && { folder } });
  const pool = createPool(ready, () => start(CAGE_LIMITS));
  const enter = createDoor(MOST_AT_ONCE);

  return {
    level,
    async run(request, tools, { signal, minimumLevel, limits: given = {} }) {
      if (level < minimumLevel) {
        throw new AgentCardsError(
          "SANDBOX_TOO_WEAK",
          `sandbox.minimum_level is ${minimumLevel}, this machine offers ${level}`,
          {
            hint:
              "Level 1 needs prlimit, 2 bubblewrap, 3 a control group; or lower sandbox.minimum_level in config.yaml.",
          },
        );
      }
      // Whoever may run longer may compute longer.
      const cpuMs = Math.max(CAGE_LIMITS.cpuMs, given.wallMs ?? 0);
      const limits = { ...CAGE_LIMITS, cpuMs, ...given };
      const leave = await enter(signal);
      if (!leave) return CANCELLED;
      try {
        return await runOne(request, tools, { limits, signal });
      } finally {
        leave();
      }
    },
    close: pool.close,
  };

  async function runOne(request: CageRequest, tools: CageTools, { limits, signal }: Bounds): Promise<CageOutcome> {
    // Heap and processor time of a process are set when it starts: one that needs others is started for itself.
    const isUsual = limits.memoryMb === CAGE_LIMITS.memoryMb && limits.cpuMs <= CAGE_LIMITS.cpuMs;
    const cage = await (isUsual ? pool.take(signal) : start(limits));
    if (!cage) return CANCELLED;
    const outcome = await cage.run(request, tools, limits, signal);
    // After the answer has gone out.
    setTimeout(pool.refill, REFILL_AFTER_MS);
    return outcome;
  }
}

interface Bounds {
  readonly limits: CageLimits;
  readonly signal: AbortSignal;
}
