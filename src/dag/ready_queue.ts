/** Something that can run now, on a server, with a rank: the higher goes first. */
export interface Ready {
  readonly server: string;
  /** True if it takes a place that other runs wait for. Code and saved workflows wait for calls that need such places. */
  readonly isShared: boolean;
  readonly height: number;
  readonly place: number;
}

export interface Caps {
  readonly all: number;
  readonly perServer: number;
  /** The places that the run shares with others. */
  readonly places?: Places | undefined;
}

/** Orders the ready tasks, longest path first, within the numbers that may run at once, in all and on each server. */
export function createReadyQueue<T extends Ready>(caps: Caps) {
  const lines = new Map<string, { heap: T[]; running: number }>();
  let running = 0;
  let isWaiting = false;
  const { places } = caps;

  const line = (server: string) => lines.getOrInsertComputed(server, () => ({ heap: [], running: 0 }));

  return {
    add(item: T): void {
      push(line(item.server).heap, item);
    },
    /** The next that may run; it counts as running until it is given back. */
    take(): T | undefined {
      if (running >= caps.all) return undefined;
      const refused = new Set<object>();
      isWaiting = false;
      for (;;) {
        let best: { heap: T[]; running: number } | undefined;
        for (const candidate of lines.values()) {
          if (candidate.heap.length === 0 || candidate.running >= caps.perServer || refused.has(candidate)) continue;
          if (!best || isBefore(candidate.heap[0]!, best.heap[0]!)) best = candidate;
        }
        if (!best) return undefined;
        if (places && best.heap[0]!.isShared && !places.take(best.heap[0]!.server)) {
          isWaiting = true;
          refused.add(best);
          continue;
        }
        best.running++;
        running++;
        return pop(best.heap);
      }
    },
    /** True if the last look found a task that waits for a place of another run. */
    isWaiting: () => isWaiting,
    /** Counts one as running again that was given back for a while. */
    takeBack(item: T): void {
      line(item.server).running++;
      running++;
      if (item.isShared) places?.takeBack(item.server);
    },
    giveBack(item: T): void {
      line(item.server).running--;
      running--;
      if (item.isShared) places?.giveBack(item.server);
    },
  };
}

function isBefore(a: Ready, b: Ready): boolean {
  return a.height > b.height || (a.height === b.height && a.place < b.place);
}

function push<T extends Ready>(heap: T[], item: T): void {
  let at = heap.push(item) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(item, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = item;
}

function pop<T extends Ready>(heap: T[]): T {
  const first = heap[0]!;
  const last = heap.pop()!;
  if (heap.length === 0) return first;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
    if (!isBefore(heap[child]!, last)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
  return first;
}

/** The places of one run among those that all runs of a session share. */
export interface Places {
  /** Takes a place on a server; false where none is free, or a run of a higher priority waits for it: `wake` follows. */
  take(server: string): boolean;
  /** Counts a call as running again that was given back for a while. */
  takeBack(server: string): void;
  giveBack(server: string): void;
  /** The run waits for no place any more. */
  leave(): void;
}

export interface Member {
  /** 1 to 5: the higher goes first. */
  readonly priority: number;
  /** Tries again at once: a place may be free. */
  wake(): void;
}

interface Line {
  running: number;
  /** The runs that wait for a place, the first that came first. */
  readonly waiting: Set<Member>;
}

export type SharedPlaces = ReturnType<typeof createPlaces>;

/** The places on each server, shared by runs: those with a higher priority get the next free one. */
export function createPlaces(perServer: number) {
  const lines = new Map<string, Line>();
  const lineOf = (server: string) => lines.getOrInsertComputed(server, () => ({ running: 0, waiting: new Set() }));

  /** One run after another by its priority, as long as there is a place; the one that gave it back goes on by itself. */
  function wake(line: Line, giver: Member): void {
    for (const member of [...line.waiting].sort((a, b) => b.priority - a.priority)) {
      if (line.running >= perServer) return;
      if (member === giver) return;
      line.waiting.delete(member);
      member.wake();
    }
  }

  return {
    join(member: Member): Places {
      return {
        take(server) {
          const line = lineOf(server);
          const isFree = line.running < perServer &&
            ![...line.waiting].some((other) => other !== member && other.priority > member.priority);
          if (!isFree) line.waiting.add(member);
          else {
            line.running++;
            line.waiting.delete(member);
          }
          return isFree;
        },
        takeBack: (server) => void lineOf(server).running++,
        giveBack(server) {
          const line = lineOf(server);
          line.running--;
          wake(line, member);
        },
        leave() {
          for (const line of lines.values()) if (line.waiting.delete(member)) wake(line, member);
        },
      };
    },
  };
}
