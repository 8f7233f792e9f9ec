import { type AgentCardsError, describe, messageOf, toAgentCardsError, within } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";
import { unrefTimer } from "../platform/start.ts";
import { type EndableDatabase, noDatabase } from "./database.ts";

export type DatabaseState =
  | { readonly kind: "closed" | "open" }
  /** `problem`: the reason why a database that had been open is opened anew. */
  | { readonly kind: "opening"; readonly since: number; readonly problem?: AgentCardsError }
  | { readonly kind: "unusable"; readonly problem: AgentCardsError };

/** One database that is opened when it is first needed and opened anew after it broke down. */
export interface SupervisedDatabase {
  /** The same object for as long as the engine lives; its statements go to whichever opened database is usable. */
  readonly database: EndableDatabase;
  /** The database once it is open; undefined when it cannot be used now. */
  ready(): Promise<EndableDatabase | undefined>;
  /** Its present state, without waiting. */
  state(): DatabaseState;
  /** Uses the database no more, for good where the problem is. */
  giveUp(problem: AgentCardsError): void;
  /** Tries at once to open a database that could not be used. */
  retry(): Promise<DatabaseState>;
  close(): Promise<void>;
  abandon(): void;
}

export interface SupervisorOptions {
  /** Opens the database; `onDeath` hears of an end that nobody asked for. */
  open(onDeath: (reason: Error) => void): Promise<EndableDatabase>;
  /** Told after a database that had been open was opened anew. */
  onReopened?(): void;
  /** Told after rows were written that somebody relies on. */
  onWritten?(db: EndableDatabase): void;
  readonly retryAfterMs?: readonly number[];
}

const REOPENED_WITHIN_MS = 1_000;
/** A disk that is full or away comes back; each try costs half a second of a processor. */
const RETRY_AFTER_MS = [2_000, 5_000, 10_000, 20_000, 30_000];

export function superviseDatabase(options: SupervisorOptions): SupervisedDatabase {
  const { open, onReopened, onWritten, retryAfterMs = RETRY_AFTER_MS } = options;
  let state: DatabaseState = { kind: "closed" };
  let current: EndableDatabase | undefined;
  let opening: Promise<EndableDatabase | undefined> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let wasOpen = false;
  let isClosed = false;
  /** The reason why the database cannot be used until it is open again. */
  let broken: AgentCardsError | undefined;

  async function ready(): Promise<EndableDatabase | undefined> {
    if (current) return database;
    if (isClosed || state.kind === "unusable") return undefined;
    // One that broke down may take long to come back: whoever has waited for it once does not wait again.
    return broken
      ? await within(openOnce(), REOPENED_WITHIN_MS, "it is still being opened").catch(() => undefined)
      : await openOnce();
  }

  /** Not started before it is known as under way: an opening may fail at once. */
  function openOnce(): Promise<EndableDatabase | undefined> {
    return opening ??= Promise.resolve().then(openNow);
  }

  async function openNow(): Promise<EndableDatabase | undefined> {
    clearTimeout(timer);
    state = { kind: "opening", since: performance.now(), ...broken && { problem: broken } };
    try {
      let hasDied = false;
      const opened = await open((reason) => {
        hasDied = true;
        died(reason);
      });
      if (isClosed) {
        await opened.close();
        return undefined;
      }
      // It died while it was brought up to date.
      if (hasDied) return undefined;
      [current, state, failures, broken] = [opened, { kind: "open" }, 0, undefined];
      if (wasOpen) {
        log("info", "database_reopened");
        onReopened?.();
      }
      wasOpen = true;
      return database;
    } catch (error) {
      fail(error);
      return undefined;
    } finally {
      opening = undefined;
    }
  }

  function fail(error: unknown): void {
    const problem = broken = toAgentCardsError(error);
    state = { kind: "unusable", problem };
    log("error", "database_not_opened", { reason: describe(problem) });
    // What only a person can decide is not tried again.
    if (isClosed || problem.data?.isFinal === true || problem.code === "DB_TOO_NEW") return;
    timer = setTimeout(() => void again(), retryAfterMs[Math.min(failures++, retryAfterMs.length - 1)]);
    unrefTimer(timer);
  }

  function died(reason: Error): void {
    if (isClosed) return;
    log("error", "database_broke_down", { reason: messageOf(reason) });
    current = undefined;
    broken = toAgentCardsError(reason);
    state = { kind: "unusable", problem: broken };
    void again();
  }

  async function again(): Promise<void> {
    if (isClosed || current) return;
    await openOnce();
  }

  async function use(): Promise<EndableDatabase> {
    await ready();
    if (current) return current;
    throw noDatabase(isClosed ? undefined : broken);
  }

  async function written<T>(isLazy: boolean | undefined, work: (db: EndableDatabase) => Promise<T>): Promise<T> {
    const db = await use();
    const result = await work(db);
    if (!isLazy) onWritten?.(db);
    return result;
  }

  const isRead = (sql: string) => /^\s*(?:select|show)\b/i.test(sql);
  const database: EndableDatabase = {
    query: (sql, parameters, given) => written(given?.isLazy || isRead(sql), (db) => db.query(sql, parameters, given)),
    exec: (sql, given) => written(given?.isLazy, (db) => db.exec(sql, given)),
    transaction: (work, given) => written(given?.isLazy, (db) => db.transaction(work, given)),
    close,
    abandon,
  };

  function abandon(): void {
    isClosed = true;
    clearTimeout(timer);
    current?.abandon();
    [current, state] = [undefined, { kind: "closed" }];
  }

  async function close(): Promise<void> {
    isClosed = true;
    clearTimeout(timer);
    const db = current ?? await opening?.catch(() => undefined);
    [current, state] = [undefined, { kind: "closed" }];
    if (db && db !== database) await db.close();
  }

  return {
    database,
    ready,
    state: () => state,
    giveUp(problem) {
      if (isClosed) return;
      const db = current;
      current = undefined;
      fail(problem);
      db?.abandon();
    },
    async retry() {
      await again();
      return state;
    },
    close,
    abandon,
  };
}
