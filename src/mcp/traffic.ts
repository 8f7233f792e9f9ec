/** The kinds of frames that a server sends unasked: log messages, progress, other notifications, requests of its own. */
export type Unasked = "message" | "progress" | "notification" | "request";

/** The counts of a server's output that was left out since it was configured, by kind. */
export type Dropped = Readonly<Record<Unasked | "garbage", number>>;

/** The budgets of one server for what it sends unasked. */
export interface Traffic {
  /** Takes from a budget; false where it is used up, and then the frame is counted as dropped. */
  admit(kind: Unasked, bytes: number): boolean;
  /** True if a budget has nothing left, without taking from it; counts the frame as dropped if so. */
  isSpent(kind: Unasked): boolean;
  /** The end of a flood, by `performance.now()`: until then frames are looked at before they are parsed. */
  readonly floodsUntil: number;
  /** Counts a line that is no message; false where there were too many. */
  garbage(): boolean;
  dropped(): Dropped;
}

interface Budget {
  /** Frames a second in the long run, and at once after a quiet time. */
  readonly rate: number;
  readonly burst: number;
}

const BUDGETS: Readonly<Record<Unasked, Budget>> = {
  message: { rate: 200, burst: 400 },
  // Besides these the newest one gets through every 50 ms.
  progress: { rate: 20, burst: 200 },
  notification: { rate: 100, burst: 400 },
  request: { rate: 100, burst: 500 },
};
/** A program that prints its log to the wrong stream says some lines a second, and for as long as it lives. */
const GARBAGE: Budget = { rate: 10, burst: 10_000 };
/** So many bytes count as one more frame. */
const FRAME_BYTES = 4_096;
const FLOOD_MS = 1_000;
const TOLD_EVERY_MS = 60_000;

/** `onFlood` is told the counts with the first frame that is dropped, and once a minute while more are. */
export function createTraffic(onFlood: (dropped: Dropped) => void): Traffic {
  const dropped: Record<Unasked | "garbage", number> = {
    message: 0,
    progress: 0,
    notification: 0,
    request: 0,
    garbage: 0,
  };
  const buckets = Object.fromEntries(
    Object.entries(BUDGETS).map(([kind, budget]) => [kind, createBucket(budget)]),
  ) as Record<Unasked, Bucket>;
  const garbage = createBucket(GARBAGE);
  let toldAt = -Infinity;

  function drop(kind: Unasked): void {
    dropped[kind]++;
    const now = performance.now();
    traffic.floodsUntil = now + FLOOD_MS;
    if (now - toldAt < TOLD_EVERY_MS) return;
    toldAt = now;
    onFlood({ ...dropped });
  }

  const traffic = {
    floodsUntil: -Infinity,
    admit(kind: Unasked, bytes: number) {
      if (buckets[kind].take(1 + Math.floor(bytes / FRAME_BYTES))) return true;
      drop(kind);
      return false;
    },
    isSpent(kind: Unasked) {
      if (buckets[kind].has(1)) return false;
      drop(kind);
      return true;
    },
    garbage() {
      dropped.garbage++;
      return garbage.take(1);
    },
    dropped: () => ({ ...dropped }),
  };
  return traffic;
}

interface Bucket {
  has(tokens: number): boolean;
  take(tokens: number): boolean;
}

/** A token bucket. A frame larger than all of it takes all of it, once it is full. */
function createBucket({ rate, burst }: Budget): Bucket {
  let left = burst;
  let at = performance.now();
  function has(tokens: number): boolean {
    const now = performance.now();
    left = Math.min(burst, left + (now - at) * rate / 1_000);
    at = now;
    return left >= Math.min(tokens, burst);
  }
  return {
    has,
    take(tokens) {
      if (!has(tokens)) return false;
      left -= Math.min(tokens, burst);
      return true;
    },
  };
}

const NOTIFICATION = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"\s*:\s*"notifications\/([a-z_/]{1,40})"/;
const LOOKED_AT = 128;
const decoder = new TextDecoder();

/** The kind of a notification by its first bytes, in the form that serialisers write; undefined for all else. */
export function unaskedBytes(line: Uint8Array): Unasked | undefined {
  const name = NOTIFICATION.exec(decoder.decode(line.subarray(0, LOOKED_AT)))?.[1];
  return name === undefined ? undefined : kindOf(name);
}

/** The kind of a message that a server sent unasked; undefined for an answer. */
export function unasked(method: unknown): Unasked | undefined {
  if (typeof method !== "string") return undefined;
  return method.startsWith("notifications/") ? kindOf(method.slice("notifications/".length)) : "request";
}

function kindOf(name: string): Unasked {
  return name === "message" || name === "progress" ? name : "notification";
}
