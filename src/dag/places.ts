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
