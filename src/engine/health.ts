import type { Session, Shared } from "../call/mod.ts";
import { type Home, readConfigFile } from "../config/mod.ts";
import type { Gateway } from "../control/mod.ts";
import { describe } from "../model/mod.ts";
import type { Server } from "../mcp/mod.ts";
import type { Alert } from "../notify/mod.ts";
import { unrefTimer } from "../platform/start.ts";
import { diskOf } from "../stats/mod.ts";
import { log } from "../telemetry/mod.ts";

export interface HealthOptions {
  readonly home: Home;
  readonly sessions: ReadonlySet<Session>;
  readonly shared: Pick<Shared, "sharedServers">;
  readonly databaseState: Gateway["databaseState"];
  readonly trends: Gateway["stats"]["trends"];
  tell(alert: Alert): void;
}

const LOOK_EVERY_MS = 60_000;
const TRENDS_EVERY_MS = 3_600_000;
const PING_EVERY_MS = 300_000;
const PING_PATIENCE_MS = 10_000;
/** A problem that stays is told again after so long. */
const AGAIN_MS = 6 * 3_600_000;

/** Looks after the disk, the database, the servers that run, and how tools do; tells what changed for the worse. */
export function watchHealth(options: HealthOptions): Disposable {
  const { home, sessions, shared, databaseState, trends, tell } = options;
  const told = new Map<string, number>();
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let isOver = false;

  /** Tells a problem when it begins, and again after a while; without a text it is over. */
  function note(kind: Alert["kind"], subject: string, title: string, text: string | null | undefined): void {
    if (text === null || text === undefined) return void told.delete(subject);
    if (performance.now() - (told.get(subject) ?? -Infinity) < AGAIN_MS) return;
    told.set(subject, performance.now());
    tell({ kind, subject, title, text });
  }

  async function look(): Promise<void> {
    note("act", "disk", "The disk is almost full", (await diskOf(home.dir))?.problem);
    const state = databaseState();
    note("act", "database", "The database cannot be used", state.kind === "unusable" ? describe(state.problem) : null);
  }

  async function lookAtTrends(): Promise<void> {
    if (databaseState().kind !== "open") return;
    const found = await trends();
    for (const { tool, kind, why } of found) note("note", `${kind} ${tool}`, `${tool} is not as it used to be`, why);
  }

  async function ping(): Promise<void> {
    await Promise.all([...serversOf(sessions, shared)].map(async (server) => {
      const silent = await server.ping(PING_PATIENCE_MS);
      if (silent !== undefined) log("warning", "server_silent", { server: server.name, reason: silent });
      const text = silent === undefined ? null : `It runs and gives no sign of life: ${silent}`;
      note("note", `silent ${server.name}`, `${server.name} does not answer`, text);
    }));
  }

  async function pingPause(): Promise<number> {
    const every = await readConfigFile(home.config).then(({ health }) => health?.every, () => undefined);
    return every ?? PING_EVERY_MS;
  }

  /** Does work again and again; `pause` may change, and 0 means not now. */
  function regularly(work: () => Promise<void>, pause: () => number | Promise<number>): void {
    const next = async () => {
      const ms = await pause();
      if (isOver) return;
      const timer = setTimeout(async () => {
        timers.delete(timer);
        if (ms > 0) await work().catch((error) => log("warning", "health_not_known", { reason: describe(error) }));
        void next();
      }, ms || PING_EVERY_MS);
      unrefTimer(timer as unknown as number);
      timers.add(timer);
    };
    void next();
  }

  regularly(look, () => LOOK_EVERY_MS);
  regularly(lookAtTrends, () => TRENDS_EVERY_MS);
  regularly(ping, pingPause);
  return {
    [Symbol.dispose]() {
      isOver = true;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** The servers that sessions have; one that several share is one. */
function serversOf(sessions: ReadonlySet<Session>, { sharedServers }: Pick<Shared, "sharedServers">): Set<Server> {
  const own = [...sessions].filter(({ isUsable }) => isUsable)
    .flatMap((session) => session.status().flatMap(({ server }) => server ?? []));
  return new Set([...own, ...[...sharedServers.values()].map(({ server }) => server)]);
}
