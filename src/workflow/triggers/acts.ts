import type { RunEvent } from "../../dag/mod.ts";

/** A call of a run that acts on the world. */
interface Act {
  readonly run: string;
  readonly task: string;
  /** Its arguments as JSON. */
  readonly text: string;
  readonly began: number;
  readonly by: readonly string[];
  ended?: number;
}

const MOST_ACTS = 1_000;
/** A server may answer before its file is on the disk, and a file counts at the second look. */
const LATE_MS = 10_000;

/**
 * Remembers the acting calls of runs, to tell which workflows a change of a file comes from: those whose calls named its
 * path while or shortly before it changed.
 */
export function createActs(chainOf: (run: string) => readonly string[]) {
  const acts: Act[] = [];
  return {
    heard(run: string, event: RunEvent): void {
      const isCall = event.kind === "called" && event.effect !== "read" || event.kind === "started";
      if (isCall && event.arguments !== undefined) {
        const { task, at, arguments: given } = event;
        acts.push({ run, task, text: JSON.stringify(given), began: at, by: chainOf(run) });
        if (acts.length > MOST_ACTS) acts.shift();
      } else if (event.kind === "done" || event.kind === "failed" || event.kind === "answered") {
        for (const act of acts) if (act.run === run && act.task === event.task) act.ended ??= event.at;
      }
    },
    /** The saved workflows whose runs wrote a file, as far as their calls tell; `names` are the spellings of its path. */
    authors(names: readonly string[], at: number): readonly string[] {
      const spelt = names.map((name) => JSON.stringify(name).slice(1, -1));
      const found = acts.filter(({ text, ended = Infinity }) =>
        ended + LATE_MS >= at && spelt.some((name) => text.includes(name))
      );
      return [...new Set(found.flatMap(({ by }) => by))];
    },
  };
}
