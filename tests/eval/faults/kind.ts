import type { Random } from "../../model/random.ts";

/** One trial: its number within the kind, and its own repeatable chance. */
export interface Trial {
  readonly number: number;
  readonly random: Random;
  /** A trial whose fault is left out or made harmless: it shows that the judge itself finds nothing. */
  readonly isHarmless: boolean;
}

/** The result of one trial: the scene that was drawn, and one sentence per violation. */
export interface TrialResult {
  readonly scene: string;
  readonly violations: readonly string[];
  /** Figures that are added up over all trials. */
  readonly counts?: Readonly<Record<string, number>>;
}

/** A kind of fault. */
export interface Kind {
  /** The longest time that one trial may take. */
  readonly limitMs: number;
  /** The reason why this machine cannot make the fault, if there is one. */
  missing(): Promise<string | undefined>;
  /** Prepares what all trials share in a folder of their own, and returns the trial. */
  prepare(root: string): Promise<(trial: Trial) => Promise<TrialResult>>;
}

/** Every wait for an answer that is longer than this is a violation. */
export const PATIENCE_MS = 10_000;

export function pick<T>(random: Random, values: readonly T[]): T {
  return values[random.below(values.length)]!;
}

/** The first names of a list, with the number of the others. */
export function few(names: Iterable<string>, most = 3): string {
  const all = [...names];
  const more = all.length > most ? ` and ${all.length - most} more` : "";
  return all.slice(0, most).join(", ") + more;
}

/** One line of a text that is not too long for a list. */
export function line(text: string, length = 160): string {
  const flat = text.replace(/\s+/g, " ").trim();
  return flat.length > length ? `${flat.slice(0, length)}…` : flat;
}
