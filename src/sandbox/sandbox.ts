import { AgentCardsError } from "../model/mod.ts";
import { type Cage, type CageOutcome, type CageRequest, type CageTools, startCage } from "./cage.ts";
import type { Cgroups } from "./cgroup.ts";
import type { Level } from "./command.ts";
import type { CodeFailure } from "./frame.ts";
import { CAGE_LIMITS, type CageLimits } from "./limits.ts";
import { createDoor, type Door, type DoorLimits, doorLimits } from "./semaphore.ts";
import { createPool } from "./pool.ts";

export interface SandboxOptions {
  readonly level: Level;
  /** Needed for level 3. */
  readonly groups?: Cgroups | undefined;
  /** The program that makes a process die with us, where there is one. */
  readonly setpriv?: string | undefined;
  readonly ready?: number;
  /** The folder of the cages' folders; its content is removed. */
  readonly folder?: string;
  /** The limits of all runs together; by default those of the machine. */
  readonly together?: DoorLimits;
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

/** The outcome of code that did not begin. */
function notRun(type: CodeFailure["type"], message: string): CageOutcome {
  return {
    result: { ok: false, error: { type, message } },
    logs: [],
    metrics: { ms: 0, calls: 0, peakMb: 0, bytesIn: 0 },
  };
}
const CANCELLED = notRun("TimeoutError", "The run was cancelled");
const READY = 2;
const REFILL_AFTER_MS = 3;

export function createSandbox(options: SandboxOptions): Sandbox {
  const { level, groups, setpriv, ready = READY, folder, watch, forget } = options;
  const start = ({ memoryMb, cpuMs }: CageLimits) =>
    startCage({ level, memoryMb, cpuMs, setpriv, watch, forget, ...groups && { groups }, ...folder && { folder } });
  const pool = createPool(ready, () => start(CAGE_LIMITS));
  const door = createDoor(options.together ?? doorLimits());

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
      const { memoryMb, wallMs } = limits;
      const leave = await door.enter({ memoryMb, waitMs: wallMs, signal });
      if (leave === "cancelled") return CANCELLED;
      if (leave === "full") return notRun("LimitError", noRoom(door, limits));
      return await runOne(request, tools, { limits, signal, leave });
    },
    close: pool.close,
  };

  async function runOne(request: CageRequest, tools: CageTools, bounds: Bounds): Promise<CageOutcome> {
    const { limits, signal, leave } = bounds;
    // Heap and processor time of a process are set when it starts: one that needs others is started for itself.
    const isUsual = limits.memoryMb === CAGE_LIMITS.memoryMb && limits.cpuMs <= CAGE_LIMITS.cpuMs;
    let cage: Cage | undefined;
    try {
      cage = await (isUsual ? pool.take(signal) : start(limits));
    } finally {
      // A process has its memory until it has ended, which is after its answer.
      if (cage) void cage.exited.finally(leave);
      else leave();
    }
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
  /** Gives back the room of the run. */
  leave(): void;
}

const ASK_FOR_LESS = "ask for less by options.memory_mb (in a task: sandbox_config.memoryLimit)";

/** Why a run was not let in. */
function noRoom({ limits, taken }: Door, { memoryMb, wallMs }: CageLimits): string {
  const all = `${limits.memoryMb} MB, half of this machine's memory`;
  if (memoryMb > limits.memoryMb) {
    return `The code asks for ${memoryMb} MB, and all code together may use ${all}; ${ASK_FOR_LESS}`;
  }
  const { runs, memoryMb: held } = taken();
  return `No room for the code within ${wallMs} ms: ${runs} other runs hold ${held} MB of the memory for all code ` +
    `(${all}); try again later, or ${ASK_FOR_LESS}`;
}
