/** The limits of one run of code. The parent enforces all of them, whatever the level of the sandbox. */
export interface CageLimits {
  readonly wallMs: number;
  /** Of all its threads together. */
  readonly cpuMs: number;
  readonly memoryMb: number;
  /** Everything it prints, on both streams. */
  readonly outputBytes: number;
  /** One value that crosses, however many frames it takes. */
  readonly valueBytes: number;
  readonly depth: number;
  /** Of one value: each takes the engine time. */
  readonly parts: number;
  /** Of the arguments of all calls that wait or are under way. */
  readonly waitingBytes: number;
  readonly calls: number;
  readonly callsAtOnce: number;
}

export const CAGE_LIMITS: CageLimits = Object.freeze({
  wallMs: 30_000,
  cpuMs: 30_000,
  memoryMb: 512,
  outputBytes: 1_048_576,
  valueBytes: 16 * 1_048_576,
  depth: 64,
  parts: 500_000,
  waitingBytes: 64 * 1_048_576,
  calls: 10_000,
  callsAtOnce: 64,
});

/** One line from the cage: a part of a value and what is said about it. */
export const MAX_FRAME = 2 * 1_048_576;

/** More declarations than these, in characters, are not handed to the type checker. */
export const MAX_DECLARATIONS = 4 * 1_048_576;
