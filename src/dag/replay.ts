import type { CodeCall } from "./code_call.ts";

export interface ReplayOptions {
  /** The time that code may take between calls that it made before. */
  readonly patienceMs?: number;
  /** The code goes another way than it did. */
  onDiverged(): void;
}

const PATIENCE_MS = 10_000;

type Give = (call: CodeCall | undefined) => void;

interface Step {
  readonly at: number;
  readonly call: CodeCall;
  readonly isAnswer: boolean;
}

/**
 * Lets code that runs again hear what it heard before, in the same order: an answer is given once every call that was made
 * before it has been made again. So code that starts several things at once goes the same way as long as it goes by nothing
 * but what its tools say. A call that was not made before waits until all that was has been, and goes out then.
 */
export function createReplay(
  history: Iterable<CodeCall>,
  { patienceMs = PATIENCE_MS, onDiverged }: ReplayOptions,
) {
  const before = [...history].sort((a, b) => a.made - b.made);
  const left = Map.groupBy(before, ({ key }) => key);
  const steps: Step[] = before.flatMap((call) => [
    { at: call.made, call, isAnswer: false },
    ...call.answered === undefined ? [] : [{ at: call.answered, call, isAnswer: true }],
  ]).sort((a, b) => a.at - b.at);
  const made = new Map<number, Give>();
  const fresh: Give[] = [];
  let place = 0;
  let unmade = before.length;
  let waiting = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function goOn(isOutOfOrder = false): void {
    for (; place < steps.length; place++) {
      const { call, isAnswer } = steps[place]!;
      const give = made.get(call.call);
      if (!give && !isOutOfOrder) break;
      if (isAnswer) give?.(call);
    }
    if (unmade === 0) fresh.splice(0).forEach((give) => give(undefined));
    clearTimeout(timer);
    timer = waiting > 0 ? setTimeout(waitNoLonger, patienceMs) : undefined;
  }

  /** Lets answers go out without waiting for a call that code makes after a long sleep; a new call waits. */
  function waitNoLonger(): void {
    const hadWaited = waiting;
    goOn(true);
    if (waiting === hadWaited) onDiverged();
  }

  return {
    /** The call that was made before and is made again; undefined when it is a new one. */
    take(key: string): Promise<CodeCall | undefined> {
      if (unmade === 0) return Promise.resolve(undefined);
      const { promise, resolve } = Promise.withResolvers<CodeCall | undefined>();
      waiting++;
      const give = once((call: CodeCall | undefined) => {
        waiting--;
        resolve(call);
      });
      const call = left.get(key)?.shift();
      if (call) {
        unmade--;
        made.set(call.call, give);
        // Nobody heard an answer: it is made again, not heard again. Nor is one heard late that others were heard before.
        if (call.answered === undefined || place === steps.length) give(call);
      } else fresh.push(give);
      goOn();
      return promise;
    },
    /** From here on everything is new. */
    forget(): void {
      left.clear();
      unmade = 0;
      place = steps.length;
      goOn();
    },
    /** An acting call that was made before and was not made again. */
    missing: (): CodeCall | undefined => [...left.values()].flat().find(isDone),
    hasActed: (): boolean => before.some(isDone),
    /** Nobody waits for anything any more. */
    end(): void {
      clearTimeout(timer);
      for (const give of [...made.values(), ...fresh]) give(undefined);
    },
  };
}

/** It acted, or may have: one that failed did not. */
function isDone({ effect, answer, again }: CodeCall): boolean {
  return effect === "effectful" && again !== true && answer?.kind !== "error";
}

function once(give: Give): Give {
  let isGiven = false;
  return (call) => {
    if (isGiven) return;
    isGiven = true;
    give(call);
  };
}
