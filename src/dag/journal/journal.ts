import type { Database } from "../../db/mod.ts";
import { AgentCardsError, type JsonObject, messageOf, toAgentCardsError } from "../../model/mod.ts";
import type { RunEvent } from "../event.ts";
import type { RunState } from "../run_state.ts";
import { FOLD_VERSION, snapshotOf } from "../kept_state.ts";
import { createFold, type Fold } from "../state.ts";
import {
  type Begun,
  type Claim,
  createJournalStore,
  type Entry,
  type Held,
  type JournalStore,
  type Kept,
  keyOf,
  type RunEngine,
} from "./journal_store.ts";
import type { RunFilter, RunHead, RunRow } from "./run_row.ts";

/** The right to write on in a run's journal. */
export interface Writer {
  readonly run: string;
  /** Resolves once the row cannot be lost any more; rejects when another runner has taken over. */
  append(event: RunEvent, summary?: JsonObject): Promise<void>;
  /** Keeps what the rows up to the state's add up to, so that reading them again is short. */
  snapshot(state: RunState): Promise<void>;
  /** Told once when another runner has taken over. */
  readonly lost: Promise<AgentCardsError>;
  /** Ends the heartbeat. */
  close(): void;
  /** False while another engine may have taken over: what begins now waits for its row. */
  isSure(): boolean;
  /** Lets others take the run up at once, when it breaks off. */
  release(): void;
  /** Says anew what the run needs, after tasks were added. */
  rehead(head: Pick<RunHead, "fingerprint" | "servers" | "variables">): Promise<void>;
}

export interface Journal {
  begin(head: RunHead): Writer;
  /**
   * Takes a run that rests, that failed or was aborted, or whose runner is gone, with the first rows to write; undefined
   * when somebody was faster.
   */
  take(
    row: Pick<RunRow, "id" | "epoch">,
    first: readonly RunEvent[],
    summary: JsonObject,
  ): Promise<Writer | undefined>;
  /** Reserves runs whose runner is gone for this engine; each is taken or given back. */
  claim(wanted: Claim): Promise<string[]>;
  unclaim(run: string): Promise<void>;
  /** The time after which a runner that says nothing has lost its runs. */
  readonly leaseMs: number;
  /** Writes down a decision about a run that rests; false when it does not rest any more. */
  note(row: Pick<RunRow, "id" | "epoch">, events: readonly RunEvent[], summary: JsonObject): Promise<boolean>;
  find(id: string): Promise<RunRow | undefined>;
  /** The id of the run that a client's request started or decided about, by the request's key. */
  runOf(request: string): Promise<string | undefined>;
  /** A run's state so far, to be gone on from. */
  open(id: string): Promise<Fold>;
  events(id: string): Promise<RunEvent[]>;
  list(filter?: RunFilter): Promise<RunRow[]>;
  /** Gives up the leases of runs that nobody in this process runs, after the database was opened anew. */
  recover(): Promise<void>;
  /** The reason why the journal is not whole: a run without its rows, rows without their run, a row that is missing. */
  damage(): Promise<string | undefined>;
  prune(keep: Kept): Promise<number>;
  /** The runs among these that are in the journal. */
  known(runs: readonly string[]): Promise<ReadonlySet<string>>;
  close(): Promise<void>;
}

export interface JournalOptions {
  readonly leaseMs?: number;
  /** True if no other process can have this database open: then leases of before are worth nothing. */
  readonly isAlone: boolean;
  /** The engine that its runs belong to, where several share the database: those of before are its own as well. */
  readonly engine?: RunEngine;
  /** False once another process may have this database open: then nothing is acknowledged any more. */
  isStillOurs?(): boolean;
}

const LEASE_MS = 15_000;

/** The journal of all runs: rows are gathered while a commit is under way and go out together in the next one. */
export function createJournal(db: Database, options: JournalOptions): Journal {
  const leaseMs = options.leaseMs ?? LEASE_MS;
  const store = createJournalStore(db, { leaseMs, engine: options.engine });
  const open = new Map<string, Open>();
  let preparing: Promise<JournalStore> | undefined;
  let beat: ReturnType<typeof setInterval> | undefined;

  const ready = () => {
    const prepared = preparing ??= prepare();
    // A database that cannot be used now may be back for the next caller.
    prepared.catch(() => preparing = undefined);
    return prepared;
  };
  async function prepare(): Promise<JournalStore> {
    if (options.isAlone || options.engine !== undefined) await store.endLeases([]).catch(needed);
    return store;
  }
  const queue = createCommitQueue(ready, { isStillOurs: options.isStillOurs ?? (() => true) });

  /** Keeps the leases; a run that is not ours any more hears of it. */
  async function renew(): Promise<void> {
    // A run whose first row is still on the way has no lease yet.
    const mine = [...open.values()].filter(({ isWritten }) => isWritten);
    if (mine.length === 0) return;
    try {
      const since = mark();
      const kept = new Set((await (await ready()).renew(mine)).map(keyOf));
      for (const entry of mine) {
        if (kept.has(keyOf(entry))) entry.since = since;
        else entry.lose(taken(entry.run));
      }
    } catch {
      // The next beat tries again; a row that cannot be written says so to its writer.
    }
  }

  /**
   * Makes sure that the lease is not over before a call that acts goes out: a process that was stopped between the
   * commit and here asks again.
   */
  async function prove(entry: Open): Promise<void> {
    while (!isSure(entry)) {
      const since = mark();
      if ((await (await ready()).renew([entry])).length === 0) throw taken(entry.run);
      entry.since = since;
    }
  }

  /** True if nobody else can have the run yet. */
  function isSure({ since }: Open): boolean {
    return options.engine === undefined || elapsed(since) < leaseMs / 2;
  }

  function writer(run: string, epoch: number, head?: RunHead): Writer {
    const lost = Promise.withResolvers<AgentCardsError>();
    const held = { run, epoch };
    const entry: Open = { ...held, isWritten: head === undefined, since: mark(), lose: lost.resolve };
    open.set(keyOf(held), entry);
    beat ??= setInterval(renew, leaseMs / 3);
    if (head) queue.begin(head, epoch);
    return {
      run,
      lost: lost.promise,
      append: (event, summary) =>
        queue.append({ run, epoch, event, ...summary && { summary } }).then((since) => {
          entry.isWritten = true;
          entry.since = since;
          if (options.engine && "effect" in event && event.effect !== "read") return prove(entry);
        }).catch((error) => {
          const problem = error instanceof AgentCardsError ? error : unusable(error);
          lost.resolve(problem);
          throw problem;
        }),
      snapshot: async (state) => (await ready()).snapshot(held, state.seq, JSON.stringify(snapshotOf(state))),
      isSure: () => isSure(entry),
      release() {
        // If it cannot be written, the lease runs out by itself.
        ready().then((store) => store.release(held)).catch(() => {});
      },
      rehead: async (head) => (await ready()).rehead(held, head),
      close() {
        open.delete(keyOf(held));
        if (open.size > 0) return;
        clearInterval(beat);
        beat = undefined;
      },
    };
  }

  return {
    begin: (head) => writer(head.id, 1, head),
    async take({ id, epoch }, first, summary) {
      const won = await (await ready()).take({ run: id, epoch }, first, summary);
      return won === undefined ? undefined : writer(id, won);
    },
    claim: async (wanted) => await (await ready()).claim(wanted),
    unclaim: async (run) => await (await ready()).unclaim(run),
    leaseMs,
    note: async ({ id, epoch }, events, summary) => (await ready()).note({ run: id, epoch }, events, summary),
    find: async (id) => (await ready()).find(id),
    async runOf(request) {
      // A row that is on its way counts.
      await queue.settled();
      return await (await ready()).runOf(request);
    },
    async open(id) {
      const kept = await (await ready()).snapshotOf(id);
      const snapshot = kept && JSON.parse(kept);
      const fold = createFold(snapshot?.version === FOLD_VERSION ? snapshot : undefined);
      for (const event of await store.rows(id, fold.state.seq)) {
        if (event.seq !== fold.state.seq + 1) throw unusable(`row ${fold.state.seq + 1} of ${id} is missing`);
        fold.add(event);
      }
      return fold;
    },
    events: async (id) => (await ready()).rows(id, 0),
    list: async (filter = {}) => (await ready()).list(filter),
    async damage() {
      const found = await (await ready()).damaged();
      if (!found) return undefined;
      const { id, others } = found;
      return `rows of ${id}${others > 0 ? ` and ${others} other ${others === 1 ? "run" : "runs"}` : ""} are missing`;
    },
    recover: async () => (await ready()).endLeases([...open.values()].map(({ run }) => run)),
    prune: async (keep) => (await ready()).prune(keep),
    known: async (runs) => new Set(await (await ready()).known(runs)),
    async close() {
      clearInterval(beat);
      await queue.settled();
    },
  };
}

/** A moment by both clocks. */
interface Mark {
  readonly ticks: number;
  readonly time: number;
}

const mark = (): Mark => ({ ticks: performance.now(), time: Date.now() });

/** One clock stands still while the machine sleeps, the other goes back when somebody sets it: the greater time counts. */
const elapsed = ({ ticks, time }: Mark) => Math.max(performance.now() - ticks, Date.now() - time);

interface Open extends Held {
  /** True once the database knows of it. */
  isWritten: boolean;
  /** The time before the last statement that found the lease in force. */
  since: Mark;
  lose(reason: AgentCardsError): void;
}

/** The error of a journal without a database: nothing of a run was written. */
function needed(error: unknown): never {
  const { message, hint } = toAgentCardsError(error);
  throw new AgentCardsError("DB_UNUSABLE", `Workflows need the database: ${message}`, {
    cause: error,
    hint: hint ?? "`agentcards status` says what is wrong with it.",
    data: { isUnwritten: true },
  });
}

interface Waiting extends Entry {
  readonly written: PromiseWithResolvers<Mark>;
}

/**
 * Group commit: while one commit is under way, rows gather for the next. A row goes in only under the epoch its run has
 * now; for a run that has another one, nothing is written and its writer is told.
 */
function createCommitQueue(
  ready: () => Promise<JournalStore>,
  { isStillOurs }: { isStillOurs: () => boolean },
) {
  let begun: Begun[] = [];
  let waiting: Waiting[] = [];
  let flushing: Promise<void> | undefined;
  /** Runs of which a row could not be written: none may follow it, or there would be a gap. */
  const broken = new Set<string>();

  async function flush(): Promise<void> {
    // What is appended in the same turn goes out together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const [heads, batch] = [begun, waiting];
      [begun, waiting] = [[], []];
      try {
        const since = mark();
        const written = await (await ready()).commit(heads, batch);
        if (!isStillOurs()) throw unusable("its folder or its lock is another's by now");
        for (const entry of batch) {
          if (written.has(keyOf(entry))) entry.written.resolve(since);
          else entry.written.reject(taken(entry.run));
        }
      } catch (error) {
        for (const entry of batch) broken.add(keyOf(entry));
        const after = Map.groupBy(waiting, (entry) => broken.has(keyOf(entry)));
        waiting = after.get(false) ?? [];
        for (const { written } of [...batch, ...after.get(true) ?? []]) written.reject(error);
      }
    }
    flushing = undefined;
  }

  return {
    begin(head: RunHead, epoch: number): void {
      begun.push({ head, epoch });
    },
    append(entry: Entry): Promise<Mark> {
      if (broken.has(keyOf(entry))) return Promise.reject(new Error("a row before could not be written"));
      const written = Promise.withResolvers<Mark>();
      waiting.push({ ...entry, written });
      flushing ??= flush();
      return written.promise;
    },
    settled: async () => await flushing,
  };
}

/** The error of a runner that another one has replaced. */
function taken(run: string): AgentCardsError {
  return new AgentCardsError("RUN_TAKEN", `Another runner has taken over ${run}; this one stopped`);
}

/** The error of a journal that does not do its work. */
function unusable(cause: unknown): AgentCardsError {
  return new AgentCardsError("DB_UNUSABLE", `The journal cannot be used: ${messageOf(cause)}`, {
    cause,
    hint: "The run stopped where it was. Once the database works again, go on with it by its id.",
    // PostgreSQL refused the statement: nothing of it was written.
    data: { isUnwritten: true },
  });
}
