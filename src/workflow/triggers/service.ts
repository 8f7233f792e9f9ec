// Loaded once a workflow is switched on.
import { eventCondition, isOver, loadConditions, type RunEvent } from "../../dag/mod.ts";
import type { JsonObject } from "../../model/mod.ts";
import { dirname, relative } from "node:path";
import type { RunListener, Workflows } from "../port.ts";
import { createFolderReader, type SavedWorkflow } from "../saved/folder.ts";
import { createActs } from "./acts.ts";
import type { Carrier } from "./carrier.ts";
import { createFileLook, FILE_PREFIX } from "./files.ts";
import { patternOf, type Trigger } from "./form.ts";
import { skipMissedFiles } from "./known_files.ts";
import { type Clock, createStarts, warn } from "./starts.ts";
import type { Switched, TriggerStore } from "./trigger_store.ts";
import { type Timetable, timetableOf } from "./times.ts";

/** An event of a client's hook. */
export interface HookEvent {
  /** Its id: the same event starts a workflow once. */
  readonly id: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

export interface ServiceOptions {
  readonly store: TriggerStore;
  readonly carrier: Pick<Carrier, "carry">;
  readonly workflows: Pick<Workflows, "observe" | "journal" | "state">;
  readonly clock: Clock;
}

/** The clock is looked at so often, at least: it may have been set. */
const LONGEST_WAIT_MS = 30_000;
const FILES_EVERY_MS = 2_000;
/** A start this much later than it was due was missed. */
const LATE_MS = 60_000;
const SCANNED_RUNS = 500;
const SHORTEST_WAIT_MS = 50;

interface On extends Switched {
  readonly triggers: readonly Trigger[];
  readonly times: readonly (Timetable | undefined)[];
  readonly looks: readonly (ReturnType<typeof createFileLook> | undefined)[];
  /** Causes of files that have a row. */
  readonly files: Set<string>;
}

/** Looks for causes and starts the workflows that are switched on, each cause once. */
export function createService({ store, carrier, workflows, clock }: ServiceOptions) {
  const readers = new Map<string, ReturnType<typeof createFolderReader>>();
  const on = new Map<string, On>();
  /** Due times that have a row, by path and entry. */
  const told = new Map<string, number>();
  const acts = createActs(chainOf);
  let callOff = () => {};
  let ticking: Promise<void> | undefined;
  let isClosed = false;
  const { pump, close } = createStarts({
    store,
    carrier,
    clock,
    find: (path) => on.get(path),
    onStop: (path) => void on.delete(path),
  });

  function chainOf(run: string): readonly string[] {
    const { after = [], chain = [] } = workflows.state(run)?.options ?? {};
    return [...after, ...chain];
  }

  /** The workflow of a file as it is now; undefined where it is gone or cannot be used. */
  async function fileOf(path: string): Promise<SavedWorkflow | undefined> {
    const folder = dirname(path);
    const reader = readers.getOrInsertComputed(folder, () => createFolderReader(folder));
    return (await reader.read()).workflows.find((one) => one.path === path);
  }

  async function takeUp(switched: Switched): Promise<On | undefined> {
    const found = await fileOf(switched.path);
    const before = on.get(switched.path);
    if (switched.stopped !== null || found?.hash !== switched.hash || !found.on) {
      on.delete(switched.path);
      return undefined;
    }
    const now = clock.now();
    const isAhead = switched.since > now;
    // The clock was wrong when it was switched on.
    if (isAhead) await store.moveSince(switched.path, now);
    const since = isAhead ? now : switched.since;
    if (before && before.hash === switched.hash && before.since === since) return before;
    const folder = switched.folder ?? undefined;
    const made: On = {
      ...switched,
      since,
      triggers: found.on,
      times: await Promise.all(
        found.on.map((one) => one.kind === "every" || one.kind === "at" ? timetableOf(one, since) : undefined),
      ),
      looks: found.on.map((one) => one.kind === "file" ? createFileLook(patternOf(one, folder)!) : undefined),
      files: new Set(await store.causes(switched.path, FILE_PREFIX)),
    };
    await loadConditions(found.on);
    on.set(switched.path, made);
    return made;
  }

  async function reload(): Promise<void> {
    const all = await store.all();
    for (const path of on.keys()) if (!all.some((one) => one.path === path)) on.delete(path);
    for (const one of all) await takeUp(one).catch((error) => warn(one.path, error));
  }

  /** Writes a cause down; true where it is the first time. */
  async function caused(
    { path, name, folder }: On,
    { entry, cause, values, after = [], isSkipped }: {
      readonly entry: number;
      readonly cause: string;
      readonly values: JsonObject;
      readonly after?: readonly string[];
      readonly isSkipped?: string | undefined;
    },
  ): Promise<boolean> {
    const detail = { entry, name, folder, cause: values, after, ...isSkipped !== undefined && { why: isSkipped } };
    const state = isSkipped === undefined ? "waiting" : "skipped";
    return await store.add([{ path, cause, at: clock.now(), state, run: null, detail }]) > 0;
  }

  async function lookAtTimes(one: On): Promise<void> {
    const now = clock.now();
    for (const [entry, timetable] of one.times.entries()) {
      const due = timetable?.last(now);
      const key = `${one.path} ${entry}`;
      if (due === undefined || told.get(key) === due) continue;
      const at = new Date(due).toISOString();
      const isMissed = now - due > LATE_MS && one.triggers[entry]!.missed === "skip";
      await caused(one, {
        entry,
        cause: `time ${at}`,
        values: { at },
        isSkipped: isMissed ? "its time had passed" : undefined,
      });
      told.set(key, due);
    }
  }

  async function lookAtFiles(one: On): Promise<void> {
    for (const [entry, look] of one.looks.entries()) {
      if (!look) continue;
      const { settled, all } = await look();
      const there = new Set(all.values());
      const gone = [...one.files].filter((cause) => !there.has(cause));
      for (const [path, cause] of settled) {
        if (one.files.has(cause)) continue;
        const names = [path, ...one.folder === null ? [] : [relative(one.folder, path)]];
        const after = acts.authors(names, clock.now());
        await caused(one, { entry, cause, values: { path }, after, isSkipped: loopIn(one, after) });
        one.files.add(cause);
      }
      // Other entries of the same file may have causes of their own.
      if (gone.length > 100 && one.looks.filter(Boolean).length === 1) {
        await store.forget(one.path, gone);
        for (const cause of gone) one.files.delete(cause);
      }
    }
  }

  const loopIn = ({ name }: On, after: readonly string[]) =>
    after.includes(name) ? `workflow:${name} led to it itself` : undefined;

  async function ended(run: string, { name, cwd, status, chain }: EndedRun): Promise<void> {
    for (const one of on.values()) {
      for (const [entry, trigger] of one.triggers.entries()) {
        if (trigger.kind !== "run" || name !== `workflow:${trigger.run}` || !trigger.status.includes(status)) continue;
        if (one.folder !== null && cwd !== one.folder && !cwd.startsWith(`${one.folder}/`)) continue;
        const isSkipped = loopIn(one, chain);
        await caused(one, {
          entry,
          cause: `run ${run}`,
          values: { run, status, name: trigger.run },
          after: chain,
          isSkipped,
        });
        void pump(one.path);
      }
    }
  }

  /** Runs that ended while no engine looked. */
  async function lookAtRuns(): Promise<void> {
    const wanted = [...on.values()].flatMap((one) =>
      one.triggers.flatMap((trigger) => trigger.kind === "run" ? [{ trigger, since: one.since }] : [])
    );
    if (wanted.length === 0) return;
    const rows = await workflows.journal.list({
      status: ["completed", "partial", "failed", "aborted"],
      limit: SCANNED_RUNS,
    });
    for (const { id, name, cwd, status, updated } of rows.toReversed()) {
      if (!isOver({ status }) || status === "running" || status === "paused") continue;
      if (!wanted.some(({ trigger, since }) => name === `workflow:${trigger.run}` && updated > since)) continue;
      const { options: { after = [], chain = [] } } = (await workflows.journal.open(id)).state;
      await ended(id, { name, cwd, status, chain: [...after, ...chain] });
    }
  }

  const listener: RunListener = (run, event: RunEvent) => {
    acts.heard(run, event);
    if (event.kind !== "finished" || ![...on.values()].some((one) => one.triggers.some(({ kind }) => kind === "run"))) {
      return;
    }
    const chain = chainOf(run);
    const { status } = event;
    workflows.journal.find(run)
      .then((row) => row && ended(run, { name: row.name, cwd: row.cwd, status, chain }))
      .catch((error) => warn(run, error));
  };

  async function look(): Promise<void> {
    await reload();
    for (const one of [...on.values()]) {
      await lookAtTimes(one);
      await lookAtFiles(one).catch((error) => warn(one.path, error));
    }
    for (const path of await store.openPaths()) await pump(path);
  }

  function plan(): void {
    callOff();
    if (isClosed) return;
    const now = clock.now();
    const due = [...on.values()].flatMap(({ times }) => times.map((one) => (one?.next(now) ?? Infinity) - now));
    const hasFiles = [...on.values()].some(({ looks }) => looks.some(Boolean));
    const wait = Math.min(LONGEST_WAIT_MS, hasFiles ? FILES_EVERY_MS : Infinity, ...due);
    callOff = clock.after(Math.max(SHORTEST_WAIT_MS, wait), () => void tick());
  }

  /** One look after the other; who asks meanwhile waits for a look that begins after that. */
  function tick(): Promise<void> {
    const next = (ticking ?? Promise.resolve()).then(() => isClosed ? undefined : look())
      .catch((error) => warn("", error)).then(plan);
    const mine: Promise<void> = next.then(() => {
      if (ticking === mine) ticking = undefined;
    });
    return ticking = mine;
  }

  const unhear = workflows.observe(listener);
  return {
    tick,
    /** Begins: with the runs that were on when the engine before this one ended, and what happened since. */
    async begin(): Promise<void> {
      await store.prune(clock.now());
      await reload();
      for (const one of on.values()) await skipMissedFiles(one, store).catch((error) => warn(one.path, error));
      await lookAtRuns();
      await tick();
    },
    isOn: () => on.size > 0,
    nextOf(path: string): number | undefined {
      const due = on.get(path)?.times.flatMap((one) => one?.next(clock.now()) ?? []) ?? [];
      return due.length > 0 ? Math.min(...due) : undefined;
    },
    async onHook(event: HookEvent): Promise<void> {
      for (const one of on.values()) {
        for (const [entry, trigger] of one.triggers.entries()) {
          if (trigger.kind !== "hook" || trigger.event !== event.event) continue;
          try {
            if (trigger.when !== undefined && !eventCondition(trigger.when)(event)) continue;
          } catch (error) {
            warn(one.path, error);
            continue;
          }
          await caused(one, { entry, cause: `hook ${event.id}`, values: { event: event as unknown as JsonObject } });
          void pump(one.path);
        }
      }
    },
    close(): void {
      isClosed = true;
      close();
      callOff();
      unhear();
    },
  };
}

export type TriggerService = ReturnType<typeof createService>;

interface EndedRun {
  readonly name: string;
  readonly cwd: string;
  readonly status: "completed" | "partial" | "failed" | "aborted";
  readonly chain: readonly string[];
}
