import type { Session } from "../../call/mod.ts";
import type { Journal, RunRow } from "../../dag/mod.ts";
import type { Database } from "../../db/mod.ts";
import { AgentCardsError, describe, isObject, messageOf, within } from "../../model/mod.ts";
import { unrefTimer } from "../../platform/start.ts";
import { log } from "../../telemetry/mod.ts";
import type { Workflows } from "../port.ts";
import { type Context, type ContextRow, createEngineStore, type EngineRow, type Joining } from "./engine_store.ts";
import { repositoryOf } from "./repository.ts";

/** An engine among those that share a database. */
export interface Cluster {
  /** Takes a message that an engine sent to all. */
  heard(message: string): void;
  /** Looks at once: a session was opened, or the database is back. */
  look(): void;
  engines(): Promise<readonly EngineReport[]>;
  contexts(): Promise<readonly ContextRow[]>;
  /** Waits until the engine that a run was taken from can send nothing any more: it ended, or two leases are over. */
  awaitEnd(row: RunRow, signal: AbortSignal): Promise<void>;
  /** Takes no more runs; those that are under way come to rest and go on in other engines. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** An engine as lists show it. */
export interface EngineReport extends EngineRow {
  readonly is_alive: boolean;
  /** True for the engine that was asked. */
  readonly is_this: boolean;
}

export interface ClusterOptions {
  readonly engine: Joining;
  readonly database: Database;
  readonly journal: Journal;
  readonly workflows: Pick<Workflows, "take" | "leave" | "count" | "settled" | "observe" | "state">;
  readonly sessions: ReadonlySet<Session>;
  /** Told of a run of another engine that waits for a person. */
  onWaiting(run: RunRow): void;
  /** Told when the database must not be used any more. */
  onUnusable(reason: AgentCardsError): void;
}

/** So many runs of dead engines are taken over at once. */
const CLAIMED_AT_ONCE = 8;
/** A run that could not be taken up is left to others for so long. */
const LEFT_MS = 60_000;
/** Less is free to look first: each run that an engine has makes it wait so long. */
const WAIT_PER_RUN_MS = 20;
const SOON_MS = 100;
const ASK_EVERY_MS = 500;
const JOINED_WITHIN_MS = 3_000;

export function createCluster(options: ClusterOptions): Cluster {
  const { engine, database, journal, workflows, sessions, onWaiting, onUnusable } = options;
  const store = createEngineStore(database);
  const left = new Map<string, number>();
  let joined: { readonly epoch: number; readonly schema: number } | undefined;
  const first = Promise.withResolvers<void>();
  let written = "";
  let isDraining = false;
  let isClosed = false;
  let isLooking = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let dueAt = Infinity;

  function later(ms: number): void {
    const at = performance.now() + ms;
    if (isClosed || at >= dueAt) return;
    clearTimeout(timer);
    dueAt = at;
    timer = setTimeout(() => void beat(), ms);
    unrefTimer(timer);
  }

  /** Says that this engine is alive, then looks for runs that nobody has. */
  async function beat(): Promise<void> {
    dueAt = Infinity;
    if (isLooking) return later(SOON_MS);
    isLooking = true;
    try {
      if (!joined) {
        joined = await store.join(engine);
        first.resolve();
        written = "";
        if (isDraining) await store.setState(engine.id, joined.epoch, "draining");
      } else {
        const alive = await store.beat(engine.id, joined.epoch);
        if (!alive) return replaced();
        if (alive.schema > joined.schema) return outgrown(alive.schema);
      }
      await tellContexts();
      if (!isDraining) await takeOver();
    } catch (error) {
      // The database is away; it says so itself.
      log("debug", "cluster_beat_failed", { reason: messageOf(error) });
    } finally {
      isLooking = false;
      later(journal.leaseMs / 3);
    }
  }

  function replaced(): void {
    isClosed = true;
    onUnusable(
      new AgentCardsError("DB_UNUSABLE", `Another process works as the engine of ${engine.home}`, {
        hint: "Stop this one: `agentcards engine stop`.",
        data: { isFinal: true },
      }),
    );
  }

  /** An older engine never writes into the tables of a newer version. */
  function outgrown(schema: number): void {
    isClosed = true;
    onUnusable(
      new AgentCardsError(
        "DB_TOO_NEW",
        `A newer AgentCards has brought the database to schema version ${schema}; this one knows ${joined!.schema}`,
        { hint: "Update this machine's AgentCards, then `agentcards engine restart`." },
      ),
    );
  }

  async function tellContexts(): Promise<void> {
    const folders = Map.groupBy([...sessions], ({ cwd }) => cwd);
    const contexts: Context[] = [];
    for (const [folder, there] of folders) {
      const servers = there.flatMap(({ isUsable, config }) =>
        isUsable ? Object.values(config.servers).filter(({ disabled }) => !disabled).map(({ name }) => name) : []
      );
      contexts.push({ folder, repository: await repositoryOf(folder), servers: [...new Set(servers)].sort() });
    }
    const text = JSON.stringify(contexts);
    if (text === written) return;
    await store.putContexts(engine.id, contexts);
    written = text;
  }

  /** Goes on with runs of engines that are gone, in the folders that have a connection here. */
  async function takeOver(): Promise<void> {
    const folders = [...new Set([...sessions].map(({ cwd }) => cwd))];
    if (folders.length === 0) return;
    for (const [id, until] of left) if (until < performance.now()) left.delete(id);
    const claimed = await journal.claim({ folders, without: [...left.keys()], limit: CLAIMED_AT_ONCE });
    await Promise.all(claimed.map(async (id) => {
      const isTaken = await workflows.take(id).catch((error) => {
        log("warning", "auto_resume_failed", { run: id, reason: describe(error) });
        return false;
      });
      if (isTaken) return log("info", "run_taken_over", { run: id });
      left.set(id, performance.now() + LEFT_MS);
      await journal.unclaim(id);
    }));
    if (claimed.length === CLAIMED_AT_ONCE) later(SOON_MS);
  }

  const tell = (about: Message["about"], run?: string) =>
    store.tell(JSON.stringify({ about, from: engine.id, ...run !== undefined && { run } })).catch((error) =>
      log("debug", "engines_not_told", { reason: messageOf(error) })
    );

  const forget = workflows.observe((run, event) => {
    // A decision about a run that is running nowhere: the engine that can go on with it looks at once.
    if (event.kind === "command" && workflows.state(run) === undefined) void tell("runs");
    if (event.kind === "paused" && event.pending.for === "human") void tell("waits", run);
  });

  /** The journal says what it is about, and whether its owner is ours. */
  async function lookAt(run: string): Promise<void> {
    const row = await journal.find(run);
    if (row?.status === "paused") onWaiting(row);
  }

  later(SOON_MS);
  return {
    look: () => later(SOON_MS),
    heard(text) {
      const message = parsed(text);
      if (!message || message.from === engine.id && message.about === "waits") return;
      if (message.about === "runs") later(SOON_MS + WAIT_PER_RUN_MS * workflows.count());
      else if (message.run !== undefined) lookAt(message.run).catch(() => {});
    },
    async engines() {
      // This one has its row a moment after its start; a database that is away says so itself.
      await within(first.promise, JOINED_WITHIN_MS, "it is not open yet").catch(() => {});
      const rows = await store.engines();
      return rows.map((row) => ({
        ...row,
        is_alive: row.state !== "ended" && row.quiet_ms < journal.leaseMs,
        is_this: row.id === engine.id,
      }));
    },
    contexts: store.contexts,
    async awaitEnd({ id, takenFrom, taken }, signal) {
      if (takenFrom === null || taken === null) return;
      const until = performance.now() + 2 * journal.leaseMs - taken;
      while (performance.now() < until && !await store.isGone(id)) {
        signal.throwIfAborted();
        await new Promise((resolve) => setTimeout(resolve, Math.min(ASK_EVERY_MS, until - performance.now())));
      }
    },
    async drain() {
      isDraining = true;
      workflows.leave();
      if (joined) await store.setState(engine.id, joined.epoch, "draining");
      await workflows.settled();
      await tell("runs");
    },
    async close() {
      isClosed = true;
      forget();
      clearTimeout(timer);
      if (!joined) return;
      await store.setState(engine.id, joined.epoch, "ended").catch(() => {});
      await tell("runs");
    },
  };
}

/** News that an engine tells all others. */
interface Message {
  /** `runs`: there may be one to go on with; `waits`: one waits for a person. */
  readonly about: "runs" | "waits";
  readonly from: string;
  readonly run?: string;
}

/** A message as far as it is one: whoever can connect to the database can send any text. */
function parsed(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value) || typeof value.from !== "string") return undefined;
    if (value.run !== undefined && typeof value.run !== "string") return undefined;
    return value.about === "runs" || value.about === "waits" ? value as unknown as Message : undefined;
  } catch {
    return undefined;
  }
}
