import type { JsonObject } from "../../model/mod.ts";
import type { RunStatus } from "../event.ts";

/** The facts about a run that are kept beside its events. */
export interface RunHead {
  readonly id: string;
  readonly name: string;
  readonly cwd: string;
  /** Of the configuration it was started under. */
  readonly fingerprint: string;
  readonly servers: readonly string[];
  /** Names of the variables that its servers need; never their values. */
  readonly variables: readonly string[];
  /** The summary that lists show. */
  readonly summary: JsonObject;
  /** The key of the client's request that started it. */
  readonly request?: string;
  readonly priority?: number;
}

/** A run as lists show it. */
export interface RunRow extends RunHead {
  readonly status: RunStatus;
  readonly epoch: number;
  /** True if a runner holds its lease. */
  readonly isHeld: boolean;
  /** The milliseconds since its lease ran out, by the clock of the database. */
  readonly quiet: number;
  /** The engine that runs it or ran it last, and its machine, where several share the database. */
  readonly engine: string | null;
  readonly host: string | null;
  /** The engine that had it when its lease ran out, and the milliseconds since the take-over. */
  readonly takenFrom: string | null;
  readonly taken: number | null;
  readonly created: number;
  readonly updated: number;
}

/** The runs that a list shows. */
export interface RunFilter {
  readonly status?: readonly RunStatus[];
  readonly cwd?: string;
  /** The connection whose requests started them. */
  readonly connection?: string;
  readonly limit?: number;
  /** A part of their names or ids. */
  readonly text?: string;
  /** Those that were created before that time, in milliseconds since 1970. */
  readonly before?: number;
}
