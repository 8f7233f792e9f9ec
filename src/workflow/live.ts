import type { Session, ToolBook } from "../call/mod.ts";
import {
  createPlaces,
  type Fold,
  isOver,
  type Journal,
  type Plan,
  type Run,
  type RunEvent,
  type RunState,
  type SharedPlaces,
  startRun,
  type Writer,
} from "../dag/mod.ts";
import { createPruner, HOUR_MS } from "../db/start.ts";
import { AgentCardsError, type Caller, isObject, messageOf } from "../model/mod.ts";
import type { Snapshots } from "../snapshot/mod.ts";
import { log } from "../telemetry/mod.ts";
import type { AgentServices } from "./agent_port.ts";
import type { Decider, RunView } from "./decider.ts";
import { codePort, type CodeServices } from "./code.ts";
import { createPorts, type PortOptions } from "./task_ports.ts";
import { withSnapshots } from "./undoing/ports.ts";
import { progressTo, type Teller } from "./progress.ts";

/** A run that is running in this engine. */
export interface LiveRun extends RunView {
  readonly session: Session;
  readonly run: Run;
  readonly book: ToolBook;
  readonly writer: Writer;
  /** Resolves once the run is in the journal, so that its id means something. */
  readonly written: Promise<void>;
  /** Resolves when it ends or pauses. */
  readonly settled: Promise<RunView>;
  /** The run that takes its place, where it only rests to have its tasks changed. */
  readonly handOver: HandOver;
  /** The run when it has ended or paused; who asks again waits for the same. */
  watch(decider: Decider): Promise<RunView>;
}

export interface HandOver extends PromiseWithResolvers<LiveRun | undefined> {
  isDue: boolean;
}

export interface Launch {
  readonly session: Session;
  readonly fold: Fold;
  readonly plan: Plan;
  readonly writer: Writer;
  readonly book: ToolBook;
  readonly written: Promise<void>;
  /** The trace context of the request that starts it. */
  readonly trace?: Record<string, unknown> | undefined;
}

const SNAPSHOT_EVERY_ROWS = 500;
/** Above this, writing what is known again would cost more than reading it once. */
const LARGEST_SNAPSHOT = 4_000_000;
/** So many runs of a session are listed to its agent. */
const REMEMBERED_RUNS = 50;
const PRUNE_EVERY_RUNS = 10;
/** The time that a stopping engine waits for calls that act on the world. */
const LEAVE_MS = 3_000;

export interface LiveRunsOptions {
  readonly journal: Journal;
  readonly code: CodeServices;
  /** The files of repositories around what acts. */
  readonly snapshots: Snapshots;
  /** Told of a run whose files were put back, or were to be, because its check failed. */
  onRolledBack(run: string): void;
  readonly agents: AgentServices;
  /** Told of a run that is over, and of the session that carried it. */
  onEnd(state: RunState, session: Session): void;
  /** Told of every event of every run. */
  onEvent(run: string, event: RunEvent, session: Session): void;
  /** Told of a run that broke off because its journal could not be written. */
  onBroken(id: string, session: Session): void;
}

/** The runs that are running, each in the session that carries it. */
export function createLiveRuns(options: LiveRunsOptions) {
  const { journal, code, agents, snapshots, onRolledBack, onEnd, onEvent, onBroken } = options;
  const pruner = createPruner({
    everyMs: HOUR_MS,
    everyRows: PRUNE_EVERY_RUNS,
    async prune(keep: Parameters<Journal["prune"]>[0]) {
      await journal.prune(keep);
      await snapshots.prune(journal.known);
    },
  });
  const lives = new Map<string, LiveRun>();
  const started = new WeakMap<Session, Set<string>>();
  const places = new WeakMap<Session, SharedPlaces>();
  const reservations = new Set<{ readonly session: Session; readonly done: Promise<void> }>();
  let isClosing = false;

  /** A run that was refused must not be in the journal: the next engine would run it. */
  function requireOpen(): void {
    if (isClosing) throw new AgentCardsError("ENGINE_BUSY", "The engine is closing down; send it again in a moment");
  }

  function launch(id: string, { session, fold, plan, writer, book, written, trace }: Launch): LiveRun {
    requireOpen();
    const watchers = new Set<Caller>();
    const listeners = new Set<Teller>();
    const waiting = new Map<Decider, Promise<RunView>>();
    const { concurrency, server_concurrency } = session.config.limits;
    const onProgress: PortOptions["onProgress"] = (task, said) => {
      for (const { part } of listeners) part(task, said);
    };
    const ports = createPorts({
      run: id,
      chain: fold.state.options.chain ?? [],
      after: fold.state.options.after ?? [],
      session,
      book,
      watchers,
      runCode: (...given) => codePort(session, code)(...given),
      agents,
      onProgress,
    });
    const run = startRun({
      fold,
      plan,
      writer,
      ports: withSnapshots(ports, { run: id, state: fold.state, session, snapshots, onRolledBack }),
      caps: { all: concurrency, perServer: server_concurrency },
      places: places.getOrInsertComputed(session, () => createPlaces(server_concurrency)),
    });
    const { state } = fold;
    const dependenciesOf = (task: string) => state.plan.find(({ id }) => id === task)?.depends_on ?? [];
    const traced = session.shared.traces?.run({ id, parent: trace, dependenciesOf });
    const settled = (async () => {
      try {
        for await (const event of run.events) {
          for (const tell of listeners) tell.event(event);
          onEvent(id, event, session);
          traced?.event(event);
          if (event.seq % SNAPSHOT_EVERY_ROWS === 0) void keepSnapshot(writer, state);
        }
        if (isOver(state) && state.status !== "aborted") onEnd(state, session);
        if (state.status === "paused" && state.seq > SNAPSHOT_EVERY_ROWS) await keepSnapshot(writer, state);
        return { id, state };
      } finally {
        traced?.end();
        lives.delete(id);
        prune(session);
      }
    })();
    written.catch(() => {
      // The run hears of it from the writer and breaks off.
    });
    settled.catch((error) => {
      log("error", "run_broke_off", { run: id, reason: messageOf(error) });
      if (isJournalLost(error)) onBroken(id, session);
    });
    const live: LiveRun = {
      id,
      state,
      session,
      run,
      book,
      writer,
      written,
      settled,
      handOver: { ...Promise.withResolvers<LiveRun | undefined>(), isDue: false },
      watch: (decider) => waiting.getOrInsertComputed(decider, () => watch(live, decider, { watchers, listeners })),
    };
    lives.set(id, live);
    remember(session, id);
    return live;
  }

  function remember(session: Session, id: string): void {
    const ids = started.get(session) ?? new Set();
    started.set(session, ids);
    ids.delete(id);
    ids.add(id);
    if (ids.size > REMEMBERED_RUNS) ids.delete(ids.values().next().value!);
  }

  function prune({ config }: Session): void {
    if (isClosing) return;
    const { runs_age: ageMs, runs: count, runs_bytes: bytes } = config.limits;
    pruner.written(1, { ageMs, count, bytes })
      .catch((error) => log("warning", "runs_not_pruned", { reason: messageOf(error) }));
  }

  function leave(): void {
    isClosing = true;
    for (const { run } of lives.values()) run.leave();
  }

  return {
    launch,
    remember,
    requireOpen,
    /** Keeps a session open while something that may need it is prepared. */
    async reserve<T>(session: Session, work: () => Promise<T>): Promise<T> {
      const ended = Promise.withResolvers<void>();
      const reservation = { session, done: ended.promise };
      reservations.add(reservation);
      try {
        return await work();
      } finally {
        reservations.delete(reservation);
        ended.resolve();
      }
    },
    get: (id: string) => lives.get(id),
    idsOf: (session: Session) => [...started.get(session) ?? []],
    all: () => [...lives.values()],
    isAny: () => lives.size > 0,
    count: () => lives.size,
    /** Waits until no run is running. */
    settled: async () => void await Promise.allSettled([...lives.values()].map(({ settled }) => settled)),
    /** Waits until no run needs the session any more. */
    async released(session: Session): Promise<void> {
      for (;;) {
        const reserved = [...reservations].filter((one) => one.session === session).map(({ done }) => done);
        const running = [...lives.values()].filter((live) => live.session === session).map(({ settled }) => settled);
        if (reserved.length + running.length === 0) return;
        await Promise.allSettled([...reserved, ...running]);
      }
    },
    leave,
    /** Gives what acts on the world a moment to come to its end. */
    async close(): Promise<void> {
      leave();
      const all = [...lives.values()];
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, LEAVE_MS);
      await Promise.race([Promise.allSettled(all.map(({ settled }) => settled)), late.promise]);
      clearTimeout(timer);
      // What still acts loses its server now: its rows must not say that it failed, since nobody knows.
      for (const { run } of lives.values()) run.abandon();
      await Promise.allSettled(all.map(({ settled }) => settled));
      await journal.close();
    },
  };
}

/**
 * Keeps what a run's rows add up to, so that going on after a crash reads few of them. It may know of a row that is still
 * on the way to the journal: that is no harm, since the row only says what has happened.
 */
async function keepSnapshot(writer: Writer, state: RunState): Promise<void> {
  let size = 0;
  for (const { bytes, output, calls } of state.tasks.values()) {
    size += output?.kind === "value" ? bytes : 0;
    for (const call of calls?.values() ?? []) size += call.bytes;
  }
  if (size > LARGEST_SNAPSHOT) return;
  await writer.snapshot(state).catch((error) =>
    log("debug", "snapshot_failed", { run: writer.run, reason: messageOf(error) })
  );
}

/** Waits for a run beside others. One who loses patience leaves it running; one who calls it off makes it rest. */
async function watch(
  live: LiveRun,
  decider: Decider,
  { watchers, listeners }: { watchers: Set<Caller>; listeners: Set<Teller> },
): Promise<RunView> {
  const { caller, onStart, onEvent } = decider;
  const { client: { progress }, signal } = caller;
  const tellClient = progress && !signal.aborted ? progressTo(progress, live) : undefined;
  const tell: Teller = {
    event(event) {
      onEvent?.(event);
      tellClient?.event(event);
    },
    part: (task, said) => tellClient?.part(task, said),
  };
  const leave = () => {
    watchers.delete(caller);
    listeners.delete(tell);
    if (isCalledOff(signal) && watchers.size === 0) live.run.hold("the call was cancelled");
  };
  watchers.add(caller);
  listeners.add(tell);
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  onStart?.(live);
  try {
    const view = await live.settled.catch(async (error) => {
      throw isJournalLost(error) ? await brokenOff(live, error) : error;
    });
    if (!live.handOver.isDue || signal.aborted) return view;
    const next = await live.handOver.promise;
    return next ? await next.watch(decider) : view;
  } finally {
    signal.removeEventListener("abort", leave);
    watchers.delete(caller);
    listeners.delete(tell);
  }
}

function isJournalLost(error: unknown): boolean {
  return error instanceof AgentCardsError && error.code === "DB_UNUSABLE";
}

/** The error for a caller that waited: it must not start the run again, unless the run has never begun. */
async function brokenOff({ id, written }: LiveRun, error: AgentCardsError): Promise<AgentCardsError> {
  const isWritten = await written.then(() => true, () => false);
  if (!isWritten && error.data?.isUnwritten === true) return error;
  const ask = `resume_workflow {"workflow_id": "${id}", "action": "status"} says how it is.`;
  return new AgentCardsError(
    "DB_UNUSABLE",
    `${id} ${isWritten ? "stopped for now" : "may or may not have begun"}: ${error.message}`,
    {
      cause: error,
      hint: isWritten
        ? `Do not run it again: it goes on by itself once its journal can be written. ${ask}`
        : `Do not run it again before you know: ${ask}`,
    },
  );
}

/** True if a call was really cancelled by its client: neither too slow for it nor cut off. */
function isCalledOff({ reason }: AbortSignal): boolean {
  return isObject(reason) && typeof reason.cancelled === "string" && !/time(d)?[ -]?out/i.test(reason.cancelled);
}
