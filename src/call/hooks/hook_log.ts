import type { Database } from "../../db/mod.ts";
import { createPruner, HOUR_MS, isNoDatabase, KEPT } from "../../db/start.ts";
import { createQuietWork, type HookEvent, messageOf } from "../../model/mod.ts";
import { log } from "../../telemetry/mod.ts";
import type { Observer } from "../observer.ts";
import type { UserWords } from "./user_words.ts";
import { createHookStore, type HookFigures } from "./hook_store.ts";

/** The session that an event belongs to. */
export interface HookSession {
  readonly cwd: string;
  readonly words: UserWords;
  readonly observer: Pick<Observer, "asked">;
}

/** Hears of an event once; `session` is that of the client's own connection, absent where a file brought the event. */
export type HookListener = (event: HookEvent, session: HookSession | undefined) => void;

/** Keeps the events of clients' hooks, and tells them to those who learn from them. */
export interface HookLog {
  /** Resolves once the row is written; rejects where it cannot be. */
  record(event: HookEvent, session?: HookSession): Promise<void>;
  /** The returned function ends it. */
  observe(listener: HookListener): () => void;
  newest(limit: number): Promise<HookEvent[]>;
  figures(): Promise<HookFigures>;
  flush(): Promise<void>;
}

const LATER = { quietMs: 30, latestMs: 250 };
/** Recent events are remembered by their ids: an event may come from the connection and from a file. */
const MOST_KNOWN = 5_000;

export function createHookLog(db: Database): HookLog {
  const store = createHookStore(db);
  const { days, rows } = KEPT.hookEvents;
  const pruner = createPruner({ everyMs: HOUR_MS, everyRows: rows / 10, prune: () => store.prune({ days, rows }) });
  const listeners = new Set<HookListener>();
  const writing = createQuietWork(LATER, () => void write());
  const known = new Set<string>();
  let waiting: { readonly event: HookEvent; readonly done: PromiseWithResolvers<void> }[] = [];
  let underWay: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    writing.cancel();
    const batch = waiting;
    waiting = [];
    if (batch.length === 0) return await underWay;
    underWay = store.add(batch.map(({ event }) => event)).then(() => {
      for (const { done } of batch) done.resolve();
      return pruner.written(batch.length);
    }).catch((error) => {
      if (!isNoDatabase(error)) log("warning", "hook_events_not_recorded", { reason: messageOf(error) });
      for (const { done } of batch) done.reject(error);
    });
    await underWay;
  }

  function tell(event: HookEvent, session: HookSession | undefined): void {
    if (known.has(event.id)) return;
    known.add(event.id);
    if (known.size > MOST_KNOWN) known.delete(known.values().next().value!);
    for (const listener of listeners) {
      try {
        listener(event, session);
      } catch (error) {
        log("warning", "hook_listener_failed", { reason: messageOf(error) });
      }
    }
  }

  return {
    record(event, session) {
      tell(event, session);
      const done = Promise.withResolvers<void>();
      done.promise.catch(() => {});
      waiting.push({ event, done });
      writing.touch();
      return done.promise;
    },
    observe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    newest: store.newest,
    figures: store.figures,
    async flush() {
      await write();
    },
  };
}
