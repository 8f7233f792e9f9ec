import {
  createArgumentHistory,
  createCatalogueStore,
  createLargeFrames,
  createOpenApprovals,
  createPrivacy,
  createResultStore,
  openPiiVault,
  type PiiVault,
  type Shared,
} from "../call/mod.ts";
import { createCodeRoom } from "../code/mod.ts";
import { type Config, DEFAULTS, ensureHome, type Home, type Limits, readConfigFile } from "../config/mod.ts";
import type { Gateway } from "../control/mod.ts";
import { createJournal, type Journal, type RunRow } from "../dag/mod.ts";
import type { Database } from "../db/mod.ts";
import { openTokenFile, type Reaper, startReaper } from "../mcp/mod.ts";
import { AgentCardsError, describe } from "../model/mod.ts";
import { type Audit, createRuleHistory, headSender, lazyGrants, openAudit, openPins } from "../policy/mod.ts";
import { removeDrafts, VERSION } from "../platform/mod.ts";
import { forgetShown } from "../serve/mod.ts";
import {
  createChains,
  createEpisodes,
  createLearning,
  createReadsAhead,
  createSuggestions,
  lessonsOf,
  together,
} from "../suggest/mod.ts";
import { createSnapshots } from "../snapshot/mod.ts";
import { createRedactor, log, type LogLevel, type Redactor, startLog, stopLog } from "../telemetry/mod.ts";
import { createToolSearch } from "../vector/mod.ts";
import {
  type Cluster,
  createCluster,
  createSavedRunner,
  createSavedWorkflows,
  createSupervisors,
  createTriggers,
  createWorkflows,
  filesFromDatabase,
  openReports,
} from "../workflow/mod.ts";
import { stdio, system } from "../platform/start.ts";
import { agentServices } from "./agent_links.ts";
import { chooseDatabase, type DatabaseChoice } from "./database_choice.ts";
import { watchConfig } from "./config_watch.ts";
import { createWorkSessions } from "./work_sessions.ts";
import { createHooks } from "./hooks.ts";
import { watchHealth } from "./health.ts";
import { auditRuns } from "./analytics.ts";
import { openSeeing } from "./seeing.ts";

export interface GatewayOptions {
  readonly logToStderr: boolean;
  /** True while lock, data folder and socket are still the ones that were taken; otherwise nothing is acknowledged. */
  readonly isStillOurs?: () => boolean;
}

/**
 * Builds the parts and joins them. Nothing slow is opened before somebody needs it. Long: the one list of all parts.
 */
export async function createGateway(home: Home, options: GatewayOptions): Promise<Gateway> {
  await ensureHome(home);
  const redactor = createRedactor();
  const settings = await engineSettings(home);
  await beginLog(home, { ...options, settings, redactor });
  void removeDrafts(home.dir).catch((error) => log("warning", "drafts_not_removed", { reason: describe(error) }));

  const storage = await chooseDatabase(home, { ...options, settings, redactor }, {
    isBusy: () => workflows.isRunning(),
    onMessage: (message) => cluster?.heard(message),
    onReopened: () => void workflows.recover().then(triggers.begin).then(cluster?.look),
  });
  const { db, database } = storage;

  const children = childrenOf(home);
  const results = resultsOf(home, { ...storage, settings });
  const large = createLargeFrames(results, redactor);
  const { calls, stats, notices, ...seeing } = await openSeeing(home, db, redactor);
  const audit = auditOf(home, settings.audit);
  const pins = openPins({ path: home.pins, audit, onQuarantine: notices.quarantined });
  const isBusy = () => calls.isBusy() || workflows.isRunning();
  const search = createToolSearch({ database: db, models: home.models, isBusy });
  const learning = createLearning({ database: db, redactor, search });
  const ahead = createReadsAhead({ learning, redactor });
  const chains = createChains({ learning, redactor });
  const episodes = createEpisodes({ learning, redactor });
  const snapshots = createSnapshots(home.snapshots);
  const hooks = createHooks({ home, database: db, redactor, learning, snapshots, sessions: () => open });
  const saved = createSavedWorkflows({ home, migrate: () => filesFromDatabase(home, db), onChange: search.prepare });
  const shared: Shared = {
    home,
    catalogues: cataloguesOf(home, db),
    pins,
    results,
    search,
    redactor,
    large,
    tokens: openTokenFile({ path: home.tokens, locks: `${home.cache}/locks`, onSecrets: redactor.add }),
    reaper: children.reaper,
    sharedServers: new Map(),
    privacy: privacyOf(home, db, large),
    approvals: notices.noticed(createOpenApprovals()),
    audit,
    traces: seeing.traces,
    hooks,
    ...memoryOf(home, settings),
    record: calls.record,
    wasUsed: calls.wasUsed,
    watch: (session) => together(learning.watch(session), ahead.watch(session), chains.watch(session)),
    experience: learning.searches,
    saved,
    runSaved: (session, name, call) => runSaved(session, name, call),
  };
  const parts = () => ({ workflows, code, suggestions, promptHints: hooks.promptHints, ahead, chains });
  const { sessions, open, openSession, closeSession, disposeAll } = createWorkSessions({
    shared,
    isClosing: children.isClosing,
    onOpen: ({ env }) => (notices.learn(env), cluster?.look()),
    parts,
  });
  const journal = journalOf(storage, { ...options, leaseMs: settings.lease });
  const code = createCodeRoom({ reaper: shared.reaper, cacheDirectory: home.cache, levelFile: home.sandbox });
  const reports = openReports(home.reports);
  const workflows = createWorkflows({
    journal,
    snapshots,
    onRolledBack: notices.rolledBack,
    host: storage.engine?.host,
    awaitEnd: (...given) => cluster?.awaitEnd(...given) ?? Promise.resolve(),
    sessions,
    code,
    agents: agentServices(home, { parts, reports }),
    complete: (...given) => suggestions.complete(...given),
    onEnd: (state, session) => learning.ran(session, () => lessonsOf(state)),
  });
  const runSaved = hooks.noting(createSavedRunner(saved, workflows));
  const suggestions = createSuggestions(learning, episodes);
  workflows.observe(notices.run);
  workflows.observe(auditRuns(audit, workflows.state));
  const cluster = clusterOf(storage, { home, journal, workflows, sessions, onWaiting: notices.elsewhere });
  const watching = watchConfig(open);
  const health = watchHealth({
    home,
    sessions: open,
    shared,
    databaseState: storage.state,
    ...stats,
    tell: notices.tell,
  });
  const supervisors = createSupervisors({
    workflows,
    sessions: open,
    reports,
    tell: (alert) => notices.tell({ kind: "act", ...alert }),
  });
  const triggers = createTriggers({ home, database: db, saved, workflows, openSession, closeSession });
  hooks.tell(triggers);
  return {
    home,
    sessions,
    idleExitMs: () => idleExitOf(home, settings),
    redactor,
    database,
    databaseState: storage.state,
    openSession,
    workflows,
    snapshots,
    code,
    learning,
    suggestions,
    ahead,
    chains,
    stats,
    analytics: seeing.analytics.state,
    saved,
    triggers,
    reports,
    audit,
    pins,
    ...cluster && { cluster },
    closeSession,
    async [Symbol.asyncDispose]() {
      children.closing();
      watching[Symbol.dispose]();
      supervisors[Symbol.dispose]();
      health[Symbol.dispose]();
      triggers.close();
      await workflows.close();
      await code.close();
      await disposeAll();
      await Promise.all([...shared.sharedServers.values()].map(({ server }) => server[Symbol.asyncDispose]()));
      await children.close();
      large.close();
      await search.close();
      await Promise.all([shared.catalogues.settled(), pins.settled(), calls.flush(), shared.argumentHistory.flush()]);
      await hooks[Symbol.asyncDispose]();
      audit[Symbol.dispose]();
      await seeing.analytics[Symbol.asyncDispose]();
      await ahead.flush();
      await chains.flush();
      await episodes.flush();
      await learning.flush();
      await cluster?.close();
      await storage.close();
      log("info", "engine_stopped");
      await stopLog();
    },
  };
}

/** The reaper of the engine's children, which the first of them starts; none is started once the engine closes. */
function childrenOf(home: Home) {
  let reaper: Reaper | undefined;
  let isClosing = false;
  return {
    reaper(): Reaper {
      if (isClosing) throw new AgentCardsError("ENGINE_BUSY", "The engine is closing down");
      return reaper ??= startReaper(`${home.cache}/children`);
    },
    isClosing: () => isClosing,
    closing: () => void (isClosing = true),
    close: async () => await reaper?.close(),
  };
}

function privacyOf(home: Home, db: Database, large: Shared["large"]): Shared["privacy"] {
  let vault: PiiVault | undefined;
  return (policy) => createPrivacy(policy, { large, vault: () => vault ??= openPiiVault(home.piiKey, db) });
}

interface LogParts extends GatewayOptions {
  readonly settings: EngineSettings;
  readonly redactor: Redactor;
}

async function beginLog(home: Home, { logToStderr, settings, redactor }: LogParts): Promise<void> {
  await startLog({ directory: home.logs, level: settings.log_level, stderr: logToStderr, redactor })
    .catch((error) => stdio.stderr.writeSync(new TextEncoder().encode(`log: ${describe(error)}\n`)));
  if (settings.problem) log("error", "configuration_refused", { reason: settings.problem });
  log("info", "engine_started", { version: VERSION, pid: system.pid });
}

/** The caller holds the home's lock, so nobody else can have the home's own database open. */
function journalOf(
  { db, engine }: DatabaseChoice,
  { isStillOurs, leaseMs }: GatewayOptions & { leaseMs?: number | undefined },
): Journal {
  return createJournal(db, {
    isAlone: engine === undefined,
    ...engine && { engine, ...leaseMs !== undefined && { leaseMs } },
    ...isStillOurs && { isStillOurs },
  });
}

/** The engine among those that share its database; undefined where it has one to itself. */
function clusterOf(
  { engine, db, database }: DatabaseChoice,
  parts: Pick<Gateway, "home" | "workflows" | "sessions"> & { journal: Journal; onWaiting(run: RunRow): void },
): Cluster | undefined {
  if (!engine) return undefined;
  const { id, host, owner } = engine;
  return createCluster({
    ...parts,
    engine: { id, host, owner, home: parts.home.dir, pid: system.pid, version: VERSION },
    database: db,
    onUnusable: (reason) => void database().then((opened) => opened.giveUp(reason)),
  });
}

function cataloguesOf(home: Home, db: Database): Shared["catalogues"] {
  return createCatalogueStore(db, {
    copy: home.catalogue,
    hints: `${home.cache}/offering.json`,
    onHint: () => forgetShown(home),
  });
}

function resultsOf(
  home: Home,
  { db, engine, settings: { limits, durability } }: DatabaseChoice & { readonly settings: EngineSettings },
) {
  return createResultStore({
    directory: home.results,
    database: db,
    limits,
    isSynced: durability === "power",
    isShared: engine !== undefined,
  });
}

/** The earlier calls and answers that rules know. */
function memoryOf({ history, audit, grants }: Home, { historyDays }: Pick<EngineSettings, "historyDays">) {
  return {
    argumentHistory: createArgumentHistory(history, historyDays),
    ruleHistory: createRuleHistory(audit),
    grants: lazyGrants(grants),
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

/** The present setting; the earlier one while the file is broken. */
async function idleExitOf(home: Home, before: EngineSettings): Promise<number> {
  const { problem, idle_exit } = await engineSettings(home);
  return problem ? before.idle_exit : idle_exit;
}

interface EngineSettings {
  readonly idle_exit: number;
  readonly log_level: LogLevel;
  readonly durability: "power" | "process";
  readonly database?: string | undefined;
  readonly owner?: string | undefined;
  readonly lease?: number | undefined;
  readonly share?: "private" | "team" | undefined;
  readonly audit: Config["audit"];
  readonly historyDays: number;
  readonly limits: Pick<Limits, "results_bytes" | "results_age">;
  readonly problem?: string;
}

/** The engine's own settings; a broken file must not keep it from starting, since sessions report it properly. */
async function engineSettings(home: Home): Promise<EngineSettings> {
  try {
    const { engine, limits, audit, history, database, durability = DEFAULTS.durability } = await readConfigFile(
      home.config,
    );
    return {
      durability,
      database,
      audit: {
        content: audit?.content ?? DEFAULTS.audit.content,
        keep: audit?.keep ?? DEFAULTS.audit.keep,
        head_to: audit?.head_to,
      },
      historyDays: history?.days ?? DEFAULTS.history.days,
      owner: engine?.owner,
      lease: engine?.lease,
      share: engine?.share,
      idle_exit: engine?.idle_exit ?? DEFAULTS.engine.idle_exit,
      log_level: engine?.log_level ?? DEFAULTS.engine.log_level,
      limits: {
        results_bytes: limits?.results_bytes ?? DEFAULTS.limits.results_bytes,
        results_age: limits?.results_age ?? DEFAULTS.limits.results_age,
      },
    };
  } catch (error) {
    const { engine, limits, durability, audit, history } = DEFAULTS;
    return { ...engine, limits, durability, audit, historyDays: history.days, problem: describe(error) };
  }
}
