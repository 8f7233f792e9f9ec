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
import { type Config, DEFAULTS, ensureHome, type Home, type Limits, readConfigFile } from "../config/mod.ts";
import type { Gateway } from "../control/mod.ts";
import { createJournal } from "../dag/mod.ts";
import type { HomeDatabase } from "../db/mod.ts";
import { lazyDatabase } from "../db/start.ts";
import { openTokenFile, type Reaper, startReaper } from "../mcp/mod.ts";
import { AgentCardsError, describe } from "../model/mod.ts";
import { type Audit, headSender, openAudit } from "../policy/mod.ts";
import { removeDrafts, VERSION } from "../platform/mod.ts";
import { forgetShown } from "../serve/mod.ts";
import { createLearning, createSuggestions, lessonsOf } from "../suggest/mod.ts";
import { createRedactor, log, type LogLevel, startLog, stopLog } from "../telemetry/mod.ts";
import { createToolSearch } from "../vector/mod.ts";
import { createSavedRunner, createSavedWorkflows, createWorkflows, filesFromDatabase } from "../workflow/mod.ts";
import { stdio, system } from "../platform/start.ts";
import { watchConfig } from "./config_watch.ts";

export interface GatewayOptions {
  readonly logToStderr: boolean;
  /** True while lock, data folder and socket are still the ones that were taken; otherwise nothing is acknowledged. */
  readonly isStillOurs?: () => boolean;
}

/** Builds the parts and joins them. Nothing slow is opened before somebody needs it. */
export async function createGateway(home: Home, options: GatewayOptions): Promise<Gateway> {
  await ensureHome(home);
  const redactor = createRedactor();
  const settings = await engineSettings(home);
  await startLog({ directory: home.logs, level: settings.log_level, stderr: options.logToStderr, redactor })
    .catch((error) => stdio.stderr.writeSync(new TextEncoder().encode(`log: ${describe(error)}\n`)));
  if (settings.problem) log("error", "configuration_refused", { reason: settings.problem });
  log("info", "engine_started", { version: VERSION, pid: system.pid });
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
          isStillOurs: options.isStillOurs,
          isBusy: () => workflows.isRunning(),
          onReopened: () => void workflows.recover(),
        })
      );
  const db = lazyDatabase(async () => (await database()).database);

  let reaper: Reaper | undefined;
  let isClosing = false;
  let vault: PiiVault | undefined;
  const { limits, durability } = settings;
  const results = createResultStore({
    directory: home.results,
    database: db,
    limits,
    isSynced: durability === "power",
  });
  const large = createLargeFrames(results, redactor);
  const calls = createCallLog(db);
  const audit = auditOf(home, settings.audit);
  const isBusy = () => calls.isBusy() || workflows.isRunning();
  const search = createToolSearch({ database: db, models: home.models, isBusy });
  const learning = createLearning({ database: db, redactor });
  const saved = createSavedWorkflows({ home, migrate: () => filesFromDatabase(home, db), onChange: search.prepare });
  const shared: Shared = {
    home,
    catalogues: createCatalogueStore(db, {
      copy: home.catalogue,
      hints: `${home.cache}/offering.json`,
      onHint: () => forgetShown(home),
    }),
    results,
    search,
    redactor,
    large,
    tokens: openTokenFile({ path: home.tokens, locks: `${home.cache}/locks`, onSecrets: redactor.add }),
    reaper() {
      if (isClosing) throw new AgentCardsError("ENGINE_BUSY", "The engine is closing down");
      return reaper ??= startReaper(`${home.cache}/children`);
    },
    sharedServers: new Map(),
    privacy: (policy) => createPrivacy(policy, { large, vault: () => vault ??= openPiiVault(home.piiKey, db) }),
    approvals: createOpenApprovals(),
    audit,
    record: calls.record,
    wasUsed: calls.wasUsed,
    watch: learning.watch,
    saved,
    runSaved: (session, name, call) => runSaved(session, name, call),
  };
  const sessions = new Set<Session>();
  // The caller holds the home's lock, so nobody else can have the database open.
  const journal = createJournal(db, {
    isAlone: true,
    ...options.isStillOurs && { isStillOurs: options.isStillOurs },
  });
  const code = createCodeRoom({ reaper: shared.reaper, cacheDirectory: home.cache, levelFile: home.sandbox });
  const workflows = createWorkflows({
    journal,
    sessions,
    code,
    onEnd: (state, session) => learning.ran(session, lessonsOf(state)),
  });

  const runSaved = createSavedRunner(saved, workflows);
  const suggestions = createSuggestions(learning);

  /** All that are open; one whose connection is gone may still carry a run, but takes up no other. */
  const open = new Set<Session>();
  const watching = watchConfig(open);

  const dispose = async (session: Session) => {
    if (open.delete(session)) await session[Symbol.asyncDispose]();
  };
  return {
    home,
    sessions,
    async idleExitMs() {
      const now = await engineSettings(home);
      return now.problem ? settings.idle_exit : now.idle_exit;
    },
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
    saved,
    audit,
    async closeSession(session) {
      sessions.delete(session);
      await workflows.released(session);
      await dispose(session);
    },
    async [Symbol.asyncDispose]() {
      isClosing = true;
      watching[Symbol.dispose]();
      await workflows.close();
      await code.close();
      await Promise.all([...open].map(dispose));
      await Promise.all([...shared.sharedServers.values()].map(({ server }) => server[Symbol.asyncDispose]()));
      await reaper?.close();
      large.close();
      await search.close();
      await shared.catalogues.settled();
      await calls.flush();
      audit[Symbol.dispose]();
      await learning.flush();
      const home = await opening;
      if (options.isStillOurs?.() === false) home?.abandon();
      else await home?.close();
      log("info", "engine_stopped");
      await stopLog();
    },
  };
}

function auditOf(home: Home, { keep, head_to }: Config["audit"]): Audit {
  return openAudit({
    folder: home.audit,
    engine: `${VERSION}-${system.pid}`,
    keepMs: keep,
    ...head_to !== undefined && { onHead: headSender(head_to) },
  });
}

interface EngineSettings {
  readonly idle_exit: number;
  readonly log_level: LogLevel;
  readonly durability: "power" | "process";
  readonly audit: Config["audit"];
  readonly limits: Pick<Limits, "results_bytes" | "results_age">;
  readonly problem?: string;
}

/** The engine's own settings; a broken file must not keep it from starting, since sessions report it properly. */
async function engineSettings(home: Home): Promise<EngineSettings> {
  try {
    const { engine, limits, audit, durability = DEFAULTS.durability } = await readConfigFile(home.config);
    return {
      durability,
      audit: {
        content: audit?.content ?? DEFAULTS.audit.content,
        keep: audit?.keep ?? DEFAULTS.audit.keep,
        head_to: audit?.head_to,
      },
      idle_exit: engine?.idle_exit ?? DEFAULTS.engine.idle_exit,
      log_level: engine?.log_level ?? DEFAULTS.engine.log_level,
      limits: {
        results_bytes: limits?.results_bytes ?? DEFAULTS.limits.results_bytes,
        results_age: limits?.results_age ?? DEFAULTS.limits.results_age,
      },
    };
  } catch (error) {
    const { engine, limits, durability, audit } = DEFAULTS;
    return { ...engine, limits, durability, audit, problem: describe(error) };
  }
}
