import { AgentCardsError } from "../model/errors.ts";
import { type CageOutcome, type CageRequest, type CageTools, startCage } from "./cage.ts";
import type { Level } from "./command.ts";
import { CAGE_LIMITS, type CageLimits } from "./limits.ts";
import { createPool } from "./pool.ts";

export interface SandboxOptions {
  readonly level: Level;
  readonly ready?: number;
  /** Tells who kills what is left when we die. */
  watch(pid: number): void;
  forget(pid: number): void;
}

/** Runs untrusted code, each time in a process of its own; returns what came of it and never throws for it. */
export interface Sandbox {
  readonly level: Level;
  run(request: CageRequest, tools: CageTools, options: RunCodeOptions): Promise<CageOutcome>;
  warm(): void;
  close(): Promise<void>;
}

export interface RunCodeOptions {
  readonly signal: AbortSignal;
  /** Below this nothing runs at all. */
  readonly minimumLevel: number;
  readonly limits?: Partial<CageLimits>;
}

const READY = 2;

export function createSandbox({ level, ready = READY, watch, forget }: SandboxOptions): Sandbox {
  const start = (memoryMb = CAGE_LIMITS.memoryMb) => startCage({ level, memoryMb, watch, forget });
  const pool = createPool(ready, () => start());

  return {
    level,
    async run(request, tools, { signal, minimumLevel, limits: given = {} }) {
      if (level < minimumLevel) {
        throw new AgentCardsError(
          "SANDBOX_TOO_WEAK",
          `sandbox.minimum_level is ${minimumLevel}, this machine offers ${level}`,
          {
            hint: "Install bubblewrap for level 2, or lower sandbox.minimum_level in config.yaml.",
          },
        );
      }
      const limits = { ...CAGE_LIMITS, ...given };
      // The heap of a process is set when it starts: one that needs another than usual is started for itself.
      const cage = await (limits.memoryMb === CAGE_LIMITS.memoryMb ? pool.take() : start(limits.memoryMb));
      return await cage.run(request, tools, limits, signal);
    },
    warm: pool.warm,
    close: pool.close,
  };
}
