import { AgentCardsError, type Call } from "../../model/mod.ts";
import { unrefTimer } from "../../platform/start.ts";

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
}

/** By line, which is the calls of a server or one request of a client, and by method. */
const lines = new WeakMap<object, Map<string, Line>>();
const counts = new WeakMap<object, Map<string, number>>();
/** The times at which requests of servers to models went out, by the calls of the server. */
const sampled = new WeakMap<object, number[]>();

/** Counts a question for its call and its server; throws when they are too many. `calls`: of the server. */
export function countQuestion({ client }: Call, method: string, calls: object): void {
  if (method === "roots/list") return;
  if (method === "sampling/createMessage") countSampled(calls);
  const counted = counts.getOrInsertComputed(client.asked ?? client, () => new Map());
  const count = (counted.get(method) ?? 0) + 1;
  if (count > MOST_FOR_A_CALL) throw tooMany(`more than ${MOST_FOR_A_CALL} times for one call`);
  counted.set(method, count);
}

export interface Turn<T> {
  readonly call: Call;
  /** The calls that wait for the server that asks. */
  readonly calls: object;
  readonly signal: AbortSignal;
  work(): Promise<T>;
}

/** Puts one question of a server, or of one request of a client, after the other. */
export async function inTurn<T>(method: string, { call, calls, signal, work }: Turn<T>): Promise<T> {
  // Nobody is there to answer: it waits beside the others until it is known whose it is.
  if (call.human.kind === "later" && !call.human.canAsk()) return await work();
  const place = call.client.turn ?? calls;
  const line = lines.getOrInsertComputed(place, () => new Map<string, Line>())
    .getOrInsertComputed(method, () => ({ last: Promise.resolve(), waiting: 0 }));
  if (line.waiting >= MOST_WAITING) throw tooMany(`while ${MOST_WAITING} of its questions wait`);
  const before = line.last;
  const mine = Promise.withResolvers<void>();
  line.last = before.then(() => mine.promise);
  line.waiting++;
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await unlessAborted(before, signal);
    timer = setTimeout(mine.resolve, LONGEST_TURN_MS);
    unrefTimer(timer as unknown as number);
    return await work();
  } finally {
    clearTimeout(timer);
    line.waiting--;
    mine.resolve();
  }
}

function countSampled(calls: object): void {
  const now = performance.now();
  const times = sampled.getOrInsertComputed(calls, () => []);
  while (times.length > 0 && now - times[0]! > HOUR_MS) times.shift();
  if (times.length >= MOST_SAMPLED) {
    throw tooMany(`for the client's model more than ${MOST_SAMPLED} times in an hour`);
  }
  times.push(now);
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
