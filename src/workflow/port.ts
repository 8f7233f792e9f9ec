import type { Session } from "../call/mod.ts";
import type { CodeRoom } from "../code/mod.ts";
import type { Held, Journal, Run, RunEvent, RunOptions, RunState } from "../dag/mod.ts";
import type { Chains, PromptHints, ReadsAhead, Suggestions } from "../suggest/mod.ts";
import type { Request } from "./decisions.ts";
import type { Decider, RunView } from "./decider.ts";

/** A session with the runs of its engine at hand: what our own tools work with. */
export interface WorkSession extends Session {
  readonly workflows: Workflows;
  readonly code: CodeRoom;
  readonly suggestions: Suggestions;
  readonly promptHints: PromptHints;
  readonly ahead: ReadsAhead;
  readonly chains: Chains;
}

export interface StartRequest {
  readonly tasks: unknown;
  readonly options: RunOptions;
  /** The name in lists. */
  readonly name: string;
  /** A call of it that was asked something before: the run starts out at rest and waits for the answer. */
  readonly asked?: Held;
}

/** Hears the events of runs. */
export type RunListener = (run: string, event: RunEvent, session: Session) => void;

/** A run that is running, with the handle that stops it. */
export interface LiveView extends RunView {
  readonly session: Session;
  readonly run: Pick<Run, "hold" | "decide">;
}

/** All runs of an engine: those that run, and those that rest in the journal. */
export interface Workflows {
  readonly journal: Journal;
  /** Plans and runs tasks until the run ends or pauses. */
  start(request: StartRequest, decider: Decider): Promise<RunView>;
  /** Applies a decision and waits until the run ends or pauses again. */
  resume(request: Request, decider: Decider): Promise<RunView>;
  /**
   * The next answer, an end or a pause, of the run that a request had started or decided about before its engine went;
   * undefined where there is no such run. `onPlaced` is told once that is known and the run goes on.
   */
  attach(key: string, decider: Decider, onPlaced: () => void): Promise<RunView | undefined>;
  /** Goes on with what a crash interrupted and this session can carry on. */
  adopt(session: Session): Promise<void>;
  /** Goes on with a run that this engine has claimed; false where that cannot be. */
  take(id: string): Promise<boolean>;
  /** Goes on with runs that broke off, after the database was opened anew. */
  recover(): Promise<void>;
  /** Hears every event of every run of this engine; the returned function ends that. */
  observe(listener: RunListener): () => void;
  /** The state of a run that is running in this engine. */
  state(id: string): RunState | undefined;
  /** The runs that a session has started or gone on with. */
  idsOf(session: Session): readonly string[];
  /** The runs that are running just now. */
  running(): readonly LiveView[];
  /** True if any run is running just now. */
  isRunning(): boolean;
  /** The number of runs that are running. */
  count(): number;
  /** Waits until none of those is running any more. */
  settled(): Promise<void>;
  /** Waits until no run needs the session any more. */
  released(session: Session): Promise<void>;
  /** Starts nothing more; runs come to a rest from which the next engine goes on. */
  leave(): void;
  close(): Promise<void>;
}
