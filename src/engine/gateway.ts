import {
  createCallLog,
  createCatalogueStore,
  createLargeFrames,
  createOpenApprovals,
  createPrivacy,
  createResultStore,
  openPiiVault,
  openSession,
  type PiiVault,
  type Session,
  type Shared,
} from "../call/mod.ts";
import { createCodeRoom } from "../code/mod.ts";
import { DEFAULTS, ensureHome, type Home, type Limits, readConfigFile } from "../config/mod.ts";
import type { Gateway } from "../control/mod.ts";
import { createJournal } from "../dag/mod.ts";
import type { HomeDatabase } from "../db/mod.ts";
import { type Reaper, startReaper } from "../mcp/mod.ts";
import { AgentCardsError, describe, isObject } from "../model/mod.ts";
import { removeDrafts, VERSION } from "../platform/mod.ts";
import { forgetShown } from "../serve/mod.ts";
import { createLearning, createSuggestions, lessonsOf } from "../suggest/mod.ts";
import { createRedactor, log, type LogLevel, startLog, stopLog } from "../telemetry/mod.ts";
import { createToolSearch } from "../vector/mod.ts";
import { createTemplates, createWorkflows, filledIn, resultOfRun, workflowAnswer } from "../workflow/mod.ts";
import { stdio, system } from "../platform/start.ts";

export interface GatewayOptions {
  readonly logToStderr: boolean;
  /** Whether lock, data folder and socket are still the ones that were taken; nothing is acknowledged when not. */
  readonly isStillOurs?: () => boolean;
}

/** Builds the parts and joins them. Nothing slow is opened before somebody needs it. */
export async function createGateway(home: Home, options: GatewayOptions): Promise<Gateway> {
  await ensureHome(home);
  const redactor = createRedactor();
  const settings = await engineSettings(home);
  await startLog({ directory: home.logs, level: settings.log_level, stderr: options.logToStderr, redactor })
    .catch((error) => stdio.stderr.writeSync(new TextEncoder().encode(`log: ${describe(error)}\n`)));
  if (settings.problem) log("error", "configuration refused", { reason: settings.problem });
  log("info", "engine started", { version: VERSION, pid: system.pid });
  void removeDrafts(home.dir).catch((error) => log("warning", "drafts_not_removed", { reason: describe(error) }));

  let opening: Promise<HomeDatabase> | undefined;
  let opened: HomeDatabase | undefined;
  const database = () =>
    opening ??= (import("../db/home_database.ts" as string) as Promise<typeof import("../db/home_database.ts")>)
      .then(({ createHomeDatabase }) =>
        opened = createHomeDatabase({
          dataDir: home.data,
          marker: home.marker,
          backups: home.backups,
          results: home.results,
          durability: settings.durability,
          version: VERSION,
          isBusy: () => workflows.isRunning(),
          onReopened: () => void workflows.recover(),
        })
      );
  const maybeDatabase = whenAwaited(async () => await (await database()).ready());

  let reaper: Reaper | undefined;
  let isClosing = false;
  let vault: PiiVault | undefined;
  const { limits, durability } = settings;
  const results = createResultStore({
    directory: home.results,
    database: maybeDatabase,
    limits,
    isSynced: durability === "power",
  });
  const large = createLargeFrames(results, redactor);
  const calls = createCallLog(maybeDatabase);
  const search = createToolSearch({ database: maybeDatabase, models: home.models });
  const learning = createLearning({ database: maybeDatabase, redactor });
  const templates = createTemplates(maybeDatabase, search.prepare);
  const shared: Shared = {
    home,
    catalogues: createCatalogueStore(maybeDatabase, {
      copy: home.catalogue,
      hints: `${home.cache}/offering.json`,
      onHint: () => forgetShown(home),
    }),
    results,
    search,
    redactor,
    large,
    reaper() {
      if (isClosing) throw new AgentCardsError("ENGINE_BUSY", "The engine is closing down");
      return reaper ??= startReaper(`${home.cache}/children`);
    },
    sharedServers: new Map(),
    privacy: (policy) =>
      createPrivacy(policy, { large, vault: () => vault ??= openPiiVault(home.piiKey, maybeDatabase) }),
    approvals: createOpenApprovals(),
    record: calls.record,
    wasUsed: calls.wasUsed,
    watch: learning.watch,
    templates,
    async runTemplate(session, name, call) {
      const template = await templates.find(name);
      const options = template.pause ? { pause: template.pause } : {};
      const given = isObject(call.params.arguments) ? call.params.arguments : {};
      const request = { tasks: filledIn(template, given), options, name: `workflow:${name}` };
      const view = await workflows.start(request, { session, caller: call, by: "agent" });
      const result = resultOfRun(await workflowAnswer(view, session), view.state.status === "failed");
      return { kind: "result", result };
    },
  };
  const sessions = new Set<Session>();
  // The caller holds the home's lock, so nobody else can have the database open.
  const journal = createJournal(maybeDatabase, {
    isAlone: true,
    ...options.isStillOurs && { isStillOurs: options.isStillOurs },
    problem() {
      const state = opened?.state();
      return state && "problem" in state ? state.problem : undefined;
    },
  });
  const code = createCodeRoom({ reaper: shared.reaper, cacheDirectory: home.cache, levelFile: home.sandbox });
  const workflows = createWorkflows({
    journal,
    sessions,
    code,
    onEnd: (state, session) => learning.ran(session, lessonsOf(state)),
  });

  const suggestions = createSuggestions(learning);

  /** All that are open; one whose connection is gone may still carry a run, but takes up no other. */
  const open = new Set<Session>();

  const dispose = async (session: Session) => {
    if (open.delete(session)) await session[Symbol.asyncDispose]();
  };
  return {
    home,
    sessions,
    idleExitMs: settings.idle_exit,
    redactor,
    database,
    databaseState: () => opened?.state() ?? { kind: "closed" },
    async openSession(context) {
      if (isClosing) throw new AgentCardsError("ENGINE_BUSY", "The engine is closing down");
      const session = await openSession(shared, context);
      sessions.add(session);
      open.add(session);
      return Object.assign(session, { workflows, code, suggestions });
    },
    workflows,
    code,
    learning,
    suggestions,
    templates,
    async closeSession(session) {
      sessions.delete(session);
      await workflows.released(session);
      await dispose(session);
    },
    async [Symbol.asyncDispose]() {
      isClosing = true;
      await workflows.close();
      await code.close();
      await Promise.all([...open].map(dispose));
      await Promise.all([...shared.sharedServers.values()].map(({ server }) => server[Symbol.asyncDispose]()));
      await reaper?.close();
      large.close();
      await search.close();
      await shared.catalogues.settled();
      await calls.flush();
      await learning.flush();
      const home = await opening;
      if (options.isStillOurs?.() === false) home?.abandon();
      else await home?.close();
      log("info", "engine stopped");
      await stopLog();
    },
  };
}

interface EngineSettings {
  readonly idle_exit: number;
  readonly log_level: LogLevel;
  readonly durability: "power" | "process";
  readonly limits: Pick<Limits, "results_bytes" | "results_age">;
  readonly problem?: string;
}

/** The engine's own settings; a broken file must not keep it from starting, since sessions report it properly. */
async function engineSettings(home: Home): Promise<EngineSettings> {
  try {
    const { engine, limits, durability = DEFAULTS.durability } = await readConfigFile(home.config);
    return {
      durability,
      idle_exit: engine?.idle_exit ?? DEFAULTS.engine.idle_exit,
      log_level: engine?.log_level ?? DEFAULTS.engine.log_level,
      limits: {
        results_bytes: limits?.results_bytes ?? DEFAULTS.limits.results_bytes,
        results_age: limits?.results_age ?? DEFAULTS.limits.results_age,
      },
    };
  } catch (error) {
    const { engine, limits, durability } = DEFAULTS;
    return { ...engine, limits, durability, problem: describe(error) };
  }
}

/** A promise whose work is done each time that somebody waits for it. */
function whenAwaited<T>(work: () => Promise<T>): Promise<T> {
  return {
    then: (resolve, reject) => work().then(resolve, reject),
    catch: (reject) => work().catch(reject),
    finally: (settled) => work().finally(settled),
    [Symbol.toStringTag]: "Promise",
  };
}
