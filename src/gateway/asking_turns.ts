import { AgentCardsError } from "../model/errors.ts";
import type { Caller } from "./caller.ts";

/** So many questions, and so many requests to the client's model, may be put for one call. */
export const MOST_FOR_A_CALL = 20;
const MOST_WAITING = 20;
const MOST_SAMPLED = 100;
const HOUR_MS = 3_600_000;
/** A question that is still open after this long does not keep the next one waiting. */
const LONGEST_TURN_MS = 11 * 60_000;

interface Line {
  last: Promise<unknown>;
  waiting: number;
  /** When requests to the client's model went out. */
  readonly sampled: number[];
}

/** By the callers of a server, which are the same object for as long as the server is known, and by method. */
const lines = new WeakMap<object, Map<string, Line>>();
const counts = new WeakMap<object, Map<string, number>>();

/** Counts questions for a call; throws when they are too many. */
export function countQuestions(caller: Caller, method: string, more = 1): void {
  const counted = counts.getOrInsertComputed(caller.asked ?? caller, () => new Map());
  const count = (counted.get(method) ?? 0) + more;
  if (count > MOST_FOR_A_CALL) throw tooMany(`more than ${MOST_FOR_A_CALL} times for one call`);
  counted.set(method, count);
}

/** Puts one question of a server after the other; `callers` are those who wait for the server. */
export async function inTurn<T>(
  callers: object,
  method: string,
  { signal, work }: { signal: AbortSignal; work: () => Promise<T> },
): Promise<T> {
  const line = lines.getOrInsertComputed(callers, () => new Map<string, Line>())
    .getOrInsertComputed(method, () => ({ last: Promise.resolve(), waiting: 0, sampled: [] }));
  if (line.waiting >= MOST_WAITING) throw tooMany(`while ${MOST_WAITING} of its questions wait`);
  if (method === "sampling/createMessage") countSampled(line);
  const before = line.last;
  const mine = Promise.withResolvers<void>();
  line.last = before.then(() => mine.promise);
  line.waiting++;
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await unlessAborted(before, signal);
    timer = setTimeout(mine.resolve, LONGEST_TURN_MS);
    Deno.unrefTimer(timer as unknown as number);
    return await work();
  } finally {
    clearTimeout(timer);
    line.waiting--;
    mine.resolve();
  }
}

function countSampled({ sampled }: Line): void {
  const now = performance.now();
  while (sampled.length > 0 && now - sampled[0]! > HOUR_MS) sampled.shift();
  if (sampled.length >= MOST_SAMPLED) {
    throw tooMany(`for the client's model more than ${MOST_SAMPLED} times in an hour`);
  }
  sampled.push(now);
}

async function unlessAborted(before: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const gone = Promise.withResolvers<never>();
  const leave = () => gone.reject(new AgentCardsError("CANCELLED", "The question was withdrawn"));
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  try {
    await Promise.race([before, gone.promise]);
  } finally {
    signal.removeEventListener("abort", leave);
    gone.promise.catch(() => {});
  }
}

function tooMany(how: string): AgentCardsError {
  return new AgentCardsError("INPUT_INVALID", `The server asked ${how}`);
}
