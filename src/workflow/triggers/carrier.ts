import type { SessionContext } from "../../call/mod.ts";
import { serversSpokenOf } from "../../code/mod.ts";
import { harmlessVariables, type Home } from "../../config/mod.ts";
import { isOver, type RunStatus } from "../../dag/mod.ts";
import {
  AgentCardsError,
  isObject,
  type JsonObject,
  nobody,
  OWN_SERVER,
  splitToolId,
  WORKFLOW_SERVER,
} from "../../model/mod.ts";
import { fs, system } from "../../platform/start.ts";
import { join } from "node:path";
import type { Decider, RunView } from "../decider.ts";
import type { Workflows, WorkSession } from "../port.ts";
import type { SavedWorkflow } from "../saved/folder.ts";
import type { SavedWorkflows } from "../saved/saved.ts";
import type { Switched } from "./trigger_store.ts";

/** A start as it is carried out. */
export interface Carried extends Pick<Switched, "path" | "name" | "folder" | "hash"> {
  /** The key under which the journal finds the run of this cause. */
  readonly key: string;
  readonly after: readonly string[];
  readonly input: JsonObject;
  /** Told of the run before its first task starts. */
  onRun(id: string): void;
}

/** Starts runs with nobody present, and stays with each until it is over. */
export interface Carrier {
  carry(start: Carried): Promise<RunStatus | undefined>;
  /** Starts one for a person who waits for its end or its first pause. */
  attempt(start: Omit<Carried, "onRun">, onEnd: (view: RunView, session: WorkSession) => Promise<void>): Promise<void>;
  /** The things that a start would lack, in the words of the person who has to mend it. */
  missing(workflow: SavedWorkflow, folder: string | null): Promise<readonly string[]>;
  close(): void;
}

export interface CarrierOptions {
  readonly home: Home;
  readonly saved: Pick<SavedWorkflows, "find" | "prepare">;
  readonly workflows: Pick<Workflows, "attach" | "start" | "observe" | "journal">;
  openSession(context: SessionContext): Promise<WorkSession>;
  closeSession(session: WorkSession): Promise<void>;
}

/** The interval at which the journal is asked about a run whose end was not told. */
const LOOK_EVERY_MS = 60_000;

export function createCarrier({ home, saved, workflows, openSession, closeSession }: CarrierOptions): Carrier {
  const closing = Promise.withResolvers<never>();
  closing.promise.catch(() => {});

  /** A connection of its own: the project's folder or a neutral one, and no variable of anybody's shell. */
  async function open(folder: string | null): Promise<WorkSession> {
    const neutral = join(home.run, "triggers");
    if (folder === null) await fs.mkdir(neutral, { recursive: true, mode: 0o700 });
    const env = harmlessVariables(system.env());
    return await openSession({ cwd: folder ?? neutral, env, viewer: "user", hasFolder: folder !== null });
  }

  async function within<T>(folder: string | null, work: (session: WorkSession) => Promise<T>): Promise<T> {
    const session = await open(folder);
    try {
      return await work(session);
    } finally {
      void closeSession(session).catch(() => {});
    }
  }

  async function begin(session: WorkSession, start: Omit<Carried, "onRun">, decider: Decider): Promise<RunView> {
    const { key, name, path, hash, after, input } = start;
    // After a crash: the run that this cause had started already.
    const before = await workflows.attach(key, decider, () => {});
    if (before) return before;
    const found = await saved.find(session, name);
    if (found.path !== path || found.hash !== hash) {
      throw new AgentCardsError("RUN_STATE", `${path} is not the text that was switched on`);
    }
    const prepared = await saved.prepare(session, name, input);
    const options = { ...prepared.options, chain: [name], ...after.length > 0 && { after } };
    return await workflows.start({ ...prepared, options }, decider);
  }

  const deciderOf = (session: WorkSession, key: string): Decider => ({
    session,
    caller: { ...nobody(new AbortController().signal), key: () => Promise.resolve(key) },
    by: "agent",
  });

  /** Waits for the end of a run, over pauses: a person may take days. */
  async function over(id: string): Promise<RunStatus | undefined> {
    for (;;) {
      const heard = Promise.withResolvers<void>();
      const forget = workflows.observe((run, { kind }) => run === id && kind === "finished" && heard.resolve());
      const timer = setTimeout(heard.resolve, LOOK_EVERY_MS);
      try {
        const row = await workflows.journal.find(id);
        if (!row || isOver(row)) return row?.status;
        await Promise.race([heard.promise, closing.promise]);
      } finally {
        forget();
        clearTimeout(timer);
      }
    }
  }

  return {
    carry: (start) =>
      within(start.folder, async (session) => {
        const decider = { ...deciderOf(session, start.key), onStart: ({ id }: RunView) => start.onRun(id) };
        const { id, state } = await Promise.race([begin(session, start, decider), closing.promise]);
        start.onRun(id);
        return isOver(state) ? state.status : await over(id);
      }),
    attempt: (start, onEnd) =>
      within(
        start.folder,
        async (session) => await onEnd(await begin(session, start, deciderOf(session, start.key)), session),
      ),
    missing: (workflow, folder) =>
      within(folder, (session) =>
        Promise.resolve(
          serversIn(session, workflow).flatMap((name) => {
            if (!Object.hasOwn(session.config.servers, name)) return [`there is no server "${name}"`];
            return session.unstartable(name) ?? [];
          }),
        )),
    close: () => closing.reject(new AgentCardsError("ENGINE_BUSY", "The engine is closing down")),
  };
}

function serversIn(session: WorkSession, { tasks }: SavedWorkflow): string[] {
  const given = tasks.filter(isObject);
  const named = given.flatMap(({ tool }) => typeof tool === "string" ? splitToolId(tool).server ?? [] : []);
  const code = given.map(({ code }) => typeof code === "string" ? code : "").join("\n");
  const all = new Set([...named, ...serversSpokenOf(session, code)]);
  return [...all].filter((name) => name !== OWN_SERVER && name !== WORKFLOW_SERVER).sort();
}
