import { type AgentCardsError, createTurns, messageOf, sha256, toAgentCardsError } from "../../model/mod.ts";
import { log } from "../../telemetry/mod.ts";
import type { Carrier } from "./carrier.ts";
import { inputOf, type Trigger } from "./form.ts";
import type { Start, Switched, TriggerStore } from "./trigger_store.ts";

/** The time of day, and timers. */
export interface Clock {
  now(): number;
  /** Does work after a time; the returned function calls it off. */
  after(ms: number, work: () => void): () => void;
}

/** A workflow file that is switched on, with its triggers. */
export interface SwitchedOn extends Switched {
  readonly triggers: readonly Trigger[];
}

export interface StartsOptions {
  readonly store: TriggerStore;
  readonly carrier: Pick<Carrier, "carry">;
  readonly clock: Clock;
  find(path: string): SwitchedOn | undefined;
  /** Told of a workflow that starts too often. */
  onStop(path: string): void;
}

/** More starts in an hour mean that something feeds itself by a way that nobody sees. */
const MOST_IN_AN_HOUR = 500;
const HOUR_MS = 3_600_000;
const LATER: ReadonlySet<AgentCardsError["code"]> = new Set(["ENGINE_BUSY", "DB_UNUSABLE", "RUN_TAKEN"]);

/** Starts the runs of causes that are written down, and stays with each to its end. */
export function createStarts({ store, carrier, clock, find, onStop }: StartsOptions) {
  const active = new Map<string, Set<string>>();
  const inTurn = createTurns();
  let isClosed = false;

  /** Starts what waits, as far as the workflow may run beside itself. */
  const pump = (path: string) => inTurn(path, () => startWaiting(path)).catch((error) => warn(path, error));

  async function startWaiting(path: string): Promise<void> {
    const mine = active.getOrInsertComputed(path, () => new Set());
    for (const start of await store.open(path)) {
      if (isClosed || mine.has(start.cause)) continue;
      const one = find(path);
      const trigger = one?.triggers[start.detail.entry];
      if (start.state === "waiting") {
        if (!one || !trigger) {
          await store.update(start, { state: "skipped", why: "its workflow is not switched on any more" });
          continue;
        }
        if (!trigger.overlap && mine.size > 0) {
          if (!start.cause.startsWith("time ")) continue;
          await store.update(start, { state: "skipped", why: "the run before it was not over" });
          continue;
        }
        if (!start.cause.startsWith("time ") && await isTooOften(one)) return;
      }
      mine.add(start.cause);
      void carry(start, one, trigger).catch((error) => warn(path, error)).then((isOver) => {
        mine.delete(start.cause);
        if (isOver && !isClosed) void pump(path);
      });
    }
  }

  async function isTooOften({ path, name }: SwitchedOn): Promise<boolean> {
    if (await store.startsSince(path, clock.now() - HOUR_MS) <= MOST_IN_AN_HOUR) return false;
    const why = `it had more than ${MOST_IN_AN_HOUR} starts in an hour`;
    await store.stop(path, why);
    onStop(path);
    log("error", "trigger_stopped", { workflow: name, path, reason: why });
    return true;
  }

  /** Carries one start to its end; false where another try is due later. */
  async function carry(start: Start, one: SwitchedOn | undefined, trigger: Trigger | undefined): Promise<boolean> {
    const { path, cause, detail } = start;
    let run: string | undefined;
    const noted: Promise<void>[] = [];
    const onRun = (id: string) => {
      if (run === id) return;
      run = id;
      noted.push(store.update(start, { state: "started", run: id }).catch((error) => warn(path, error)));
      log("info", "trigger_started", { path, cause, run: id });
    };
    try {
      const status = await carrier.carry({
        path,
        name: detail.name,
        folder: detail.folder,
        // Without one only a run that has begun goes on.
        hash: one?.hash ?? "",
        key: await keyOf(start),
        after: detail.after,
        input: trigger ? inputOf(trigger, detail.cause) : {},
        onRun,
      });
      await Promise.all(noted);
      await store.update(start, { state: status === "completed" ? "over" : "failed", ...status && { why: status } });
      return true;
    } catch (error) {
      const problem = toAgentCardsError(error);
      await Promise.all(noted);
      // Whether it began is not known, or it cannot go on now: the next look finds it by its key.
      if (LATER.has(problem.code)) return false;
      warn(path, problem);
      await store.update(start, { state: run === undefined ? "skipped" : "failed", why: problem.message });
      return true;
    }
  }

  return {
    pump,
    close: () => void (isClosed = true),
  };
}

export function warn(path: string, error: unknown): void {
  log("warning", "trigger_failed", { path, reason: messageOf(error) });
}

/** The key of a cause's run, in the form of a request's key: the name of the asker, then the rest. */
const keyOf = async ({ path, cause }: Start) => `trigger:${await sha256(JSON.stringify([path, cause]))}`;
