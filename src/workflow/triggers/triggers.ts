import type { Database } from "../../db/mod.ts";
import { AgentCardsError, messageOf, nearest, oneLine } from "../../model/mod.ts";
import { log } from "../../telemetry/mod.ts";
import { dirname } from "node:path";
import type { RunView } from "../decider.ts";
import type { Workflows, WorkSession } from "../port.ts";
import type { SavedWorkflow } from "../saved/folder.ts";
import type { Place, SavedWorkflows } from "../saved/saved.ts";
import { type CarrierOptions, createCarrier } from "./carrier.ts";
import { inputOf, patternOf, triggerText } from "./form.ts";
import { noteFiles } from "./known_files.ts";
import type { HookEvent, TriggerService } from "./service.ts";
import type { Clock } from "./starts.ts";
import { createTriggerStore, type Start, type Switched } from "./trigger_store.ts";

/** A workflow with `on`, as lists show it. */
export interface TriggerReport {
  readonly name: string;
  readonly path: string;
  /** The project's folder; null where it runs in a neutral one. */
  readonly folder: string | null;
  readonly on: readonly string[];
  /** `changed`: the file is not the text that was switched on; `gone`: there is no such file any more. */
  readonly state: "on" | "off" | "changed" | "stopped" | "gone";
  readonly why?: string;
  /** The next time at which it is due. */
  readonly next?: number;
  /** The run that is not over, else the newest cause. */
  readonly last?: {
    readonly at: number;
    readonly state: Start["state"];
    readonly cause: string;
    readonly run: string | null;
    readonly why?: string;
  };
}

/** A workflow with `on`, as a person reads it before it is switched on. */
export interface TriggerText extends TriggerReport {
  readonly text: string;
  readonly hash: string;
  /** The things that its runs would lack: a variable that no shell gives them, a server. */
  readonly missing: readonly string[];
}

/** Workflows that start by themselves, once a person has switched their text on. */
export interface Triggers {
  /** Goes on with those that are on; nothing is loaded where there is none. */
  begin(): Promise<void>;
  isOn(): boolean;
  list(place: Place): Promise<readonly TriggerReport[]>;
  show(place: Place, name: string): Promise<TriggerText>;
  /** Switches on the very text that was shown. */
  switchOn(place: Place, name: string, hash: string): Promise<TriggerText>;
  switchOff(place: Place, name: string): Promise<readonly string[]>;
  /** Starts it once, now, as a trigger would; `onEnd` is told of its end or its first pause. */
  attempt(place: Place, name: string, onEnd: (view: RunView, session: WorkSession) => Promise<void>): Promise<void>;
  /** Takes an event of a client's hook. */
  onHook(event: HookEvent): Promise<void>;
  close(): void;
}

export interface TriggersOptions extends Omit<CarrierOptions, "saved" | "workflows"> {
  readonly saved: SavedWorkflows;
  readonly workflows: Workflows;
  readonly database: Database;
  readonly clock?: Clock;
}

const CLOCK: Clock = {
  now: Date.now,
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

export function createTriggers({ database, clock = CLOCK, ...options }: TriggersOptions): Triggers {
  const { saved, workflows } = options;
  const store = createTriggerStore(database);
  const carrier = createCarrier(options);
  let service: TriggerService | undefined;
  let beginning: Promise<void> | undefined;
  let first: Promise<void> | undefined;
  let isClosed = false;

  async function start(): Promise<void> {
    if (isClosed) return;
    if (service) return await service.tick();
    const hasWork = (await store.all()).length > 0 || (await store.openPaths()).length > 0;
    if (!hasWork || isClosed) return;
    const { createService }: typeof import("./service.ts") = await import("./service.ts" as string);
    service = createService({ store, carrier, workflows, clock });
    await service.begin();
  }

  const begin = () =>
    beginning ??= start().catch((error) => {
      log("warning", "triggers_not_begun", { reason: messageOf(error) });
    }).finally(() => beginning = undefined);

  async function find(place: Place, name: string): Promise<SavedWorkflow> {
    const found = await saved.find(place, name);
    if (found.on) return found;
    throw new AgentCardsError("INPUT_INVALID", `workflow:${oneLine(name, 80)} does not say when it starts`, {
      hint: "Add a list such as `on: [{ every: 15m }]` to its file.",
    });
  }

  async function reportOf(found: SavedWorkflow | undefined, switched: Switched | undefined): Promise<TriggerReport> {
    const { name, path } = (found ?? switched)!;
    // A run that goes on or waits says more than a cause that was left out because of it.
    const last = (await store.open(path)).find(({ run }) => run !== null) ?? (await store.last(path, 1))[0];
    const next = service?.nextOf(path);
    return {
      name,
      path,
      folder: switched ? switched.folder : folderOf(path, saved.home),
      on: found?.on?.map(triggerText) ?? [],
      state: stateOf(found, switched),
      ...switched && switched.stopped !== null && { why: switched.stopped },
      ...next !== undefined && { next },
      ...last && {
        last: {
          at: last.at,
          state: last.state,
          cause: last.cause,
          run: last.run,
          ...last.detail.why !== undefined && { why: last.detail.why },
        },
      },
    };
  }

  async function textOf(found: SavedWorkflow): Promise<TriggerText> {
    const switched = (await store.all()).find(({ path }) => path === found.path);
    const report = await reportOf(found, switched);
    const missing = await carrier.missing(found, folderOf(found.path, saved.home))
      .catch((error) => [messageOf(error)]);
    return { ...report, text: found.text, hash: found.hash, missing };
  }

  return {
    begin,
    isOn: () => service?.isOn() ?? false,
    async list(place) {
      const all = await store.all();
      const { workflows } = await saved.all(place);
      const here = workflows.filter(({ path, on }) => on || all.some((one) => one.path === path));
      const others = all.filter(({ path }) => !here.some((one) => one.path === path));
      const elsewhere = await Promise.all(others.map((one) => saved.read(one.path)));
      return await Promise.all([
        ...here.map((found) => reportOf(found, all.find(({ path }) => path === found.path))),
        ...others.map((one, i) => reportOf(elsewhere[i], one)),
      ]);
    },
    show: async (place, name) => await textOf(await find(place, name)),
    async switchOn(place, name, hash) {
      const found = await find(place, name);
      if (found.hash !== hash) {
        throw new AgentCardsError("RUN_STATE", `${found.path} has changed since it was shown`, { hint: "Look again." });
      }
      const folder = folderOf(found.path, saved.home);
      const triggers = found.on!;
      for (const trigger of triggers) {
        if (trigger.kind === "file" && patternOf(trigger, folder ?? undefined) === undefined) {
          throw new AgentCardsError("INPUT_INVALID", `"${trigger.glob}" begins nowhere: the workflow has no project`, {
            hint: "Write an absolute pattern, or one that begins with ~/.",
          });
        }
        // Its runs would fail, one after the other.
        await saved.prepare(place, name, inputOf(trigger, SAMPLE));
      }
      for (const [entry, trigger] of triggers.entries()) {
        if (trigger.kind === "file") await noteFiles({ path: found.path, name, folder }, { entry, trigger, store });
      }
      await store.switchOn({ path: found.path, name, folder, hash, since: clock.now() });
      await begin();
      return await textOf(found);
    },
    async switchOff(place, name) {
      const all = await store.all();
      const visible = await saved.find(place, name).catch(() => undefined);
      const meant = all.filter((one) => visible ? one.path === visible.path : one.name === name || one.path === name);
      if (meant.length === 0) {
        const near = nearest(name, all.map((one) => one.name));
        throw new AgentCardsError("INPUT_INVALID", `No trigger of "${oneLine(name, 80)}" is on`, {
          ...near.length > 0 && { hint: `On are ${near.join(", ")}.` },
        });
      }
      for (const { path } of meant) await store.switchOff(path);
      await service?.tick();
      return meant.map(({ path }) => path);
    },
    async attempt(place, name, onEnd) {
      const found = await find(place, name);
      const { path, hash, on } = found;
      const folder = folderOf(path, saved.home);
      const input = inputOf(on![0]!, SAMPLE);
      const key = `trigger:try:${crypto.randomUUID()}`;
      await carrier.attempt({ path, name: found.name, folder, hash, key, after: [], input }, onEnd);
    },
    async onHook(event) {
      // An event may come before the first look at what is on; later there is nothing to wait for.
      await (first ??= begin());
      await service?.onHook(event);
    },
    close() {
      isClosed = true;
      carrier.close();
      service?.close();
    },
  };
}

/** Stands for the values of a cause where there is none yet. */
const SAMPLE = { at: new Date(0).toISOString(), path: "", run: "", status: "completed", name: "", event: {} };

function stateOf(found: SavedWorkflow | undefined, switched: Switched | undefined): TriggerReport["state"] {
  if (!switched) return "off";
  if (switched.stopped !== null) return "stopped";
  if (!found) return "gone";
  return found.hash === switched.hash ? "on" : "changed";
}

/** The project's folder of a workflow file; null for a file of the home. */
function folderOf(path: string, home: string): string | null {
  const folder = dirname(path);
  return folder === home ? null : dirname(dirname(folder));
}
