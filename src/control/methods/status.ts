import { createCallStore, reportSecrets, type Session, toolsInMemory } from "../../call/mod.ts";
import type { Journal } from "../../dag/mod.ts";
import type { HomeDatabase } from "../../db/mod.ts";
import type { Dropped } from "../../mcp/mod.ts";
import { describe, isObject } from "../../model/mod.ts";
import type { Audit } from "../../policy/mod.ts";
import { diskOf } from "../../stats/mod.ts";
import { VERSION } from "../../platform/mod.ts";
import { system } from "../../platform/start.ts";
import type { ControlContext, Method } from "../context.ts";
import { ruleProblems } from "./policy.ts";
import type { Gateway } from "../gateway.ts";
import type { EngineReport, RunCounts, ServerReport } from "../reports.ts";

/** `status` waits so long for the database. */
const STATUS_PATIENCE_MS = 2_000;
/** An opening that takes longer is told as a problem. */
const LONG_OPENING_S = 10;

/** Tells the state of the engine, the database, search, runs and every server. */
export const status: Method<"status"> = async (context) => context.gateway.redactor.clean(await reportOf(context));

async function reportOf({ gateway, session }: Pick<ControlContext, "gateway" | "session">): Promise<EngineReport> {
  const open = await usable(session).catch((error) => ({ failure: describe(error) }));
  const database = await gateway.database();
  await gateway.pins.ready();
  // A start that takes long is told as such; one that fails at once, with its reason.
  await withinOr(database.ready(), STATUS_PATIENCE_MS, undefined);
  const problem = await databaseProblem(database, gateway.workflows.journal);
  const isOpen = problem === null && database.state().kind === "open";
  const figures = isOpen ? await createCallStore(database.database).figures().catch(() => undefined) : undefined;
  const bytes = isOpen ? await database.bytes().catch(() => null) : null;
  const tools = "failure" in open ? [] : await toolsInMemory(open);
  const failed = "failure" in open;
  return {
    version: VERSION,
    pid: system.pid,
    uptime_ms: Math.round(performance.now()),
    rss_bytes: system.memoryUsage().rss,
    connections: gateway.sessions.size - (failed ? 0 : 1),
    database: { state: database.state().kind, bytes, problem, engines: isOpen ? await countEngines(gateway) : null },
    calls: { total: figures?.total ?? 0, failed: figures?.failed ?? 0, p95_ms: figures?.p95 ?? null },
    config_problem: failed ? open.failure : null,
    notes: [...failed ? [] : [...open.loaded.notes, ...await ruleProblems(open)], ...refusals(gateway.sessions)],
    folder: failed || !open.loaded.folder
      ? null
      : { path: open.loaded.folder.path, trusted_by: open.loaded.folder.trustedBy ?? null },
    sandbox: await gateway.code.level.report(),
    pii: failed ? "off" : open.config.policy.pii,
    secrets: reportSecrets(failed ? [] : open.secrets),
    audit: auditReport(gateway.audit),
    pins_problem: gateway.pins.problem() ?? null,
    minimum_level: failed ? 0 : open.config.sandbox.minimum_level,
    analytics: await gateway.analytics(),
    disk: await diskOf(gateway.home.dir),
    trends: isOpen ? await withinOr(gateway.stats.trends(), STATUS_PATIENCE_MS, []).catch(() => []) : [],
    search: failed ? null : {
      ...open.shared.search.status(tools),
      tools: tools.length,
      queries: figures?.queries ?? 0,
      p95_ms: figures?.queries_p95 ?? null,
    },
    runs: isOpen ? await countRuns(gateway.workflows).catch(() => NO_RUNS) : NO_RUNS,
    suggestions: await gateway.suggestions.status().catch(() => NO_OUTCOMES),
    ahead: gateway.ahead.status(),
    servers: failed ? [] : await serverReports(gateway, open),
  };
}

/** A session with a configuration that can be used; rejects with the reason where there is none. */
async function usable(session: ControlContext["session"]): ControlContext["session"] {
  const open = await session;
  if (!open.isUsable) throw open.problem;
  return open;
}

/** The refused changes of the configuration that other sessions go on without. */
function refusals(sessions: ReadonlySet<Session>): string[] {
  const counts = new Map<string, number>();
  for (const { problem, isUsable } of sessions) {
    if (problem && isUsable) counts.set(problem.message, (counts.get(problem.message) ?? 0) + 1);
  }
  return [...counts].map(([problem, count]) =>
    `${count === 1 ? "One session goes" : `${count} sessions go`} on with the last good configuration: ${problem}`
  );
}

function auditReport(audit: Audit): EngineReport["audit"] {
  const { last, signed, isAnchored, problem = null } = audit.state();
  return { last, signed, anchored: isAnchored, problem };
}

/** For as long as the database cannot be read. */
const NO_OUTCOMES: EngineReport["suggestions"] = { outcomes: 0, right: 0, speculate_at: 1 };
const NO_RUNS: RunCounts = { running: 0, paused: 0, approvals: 0 };

/** The problem of the database, found out by a look at its state and by a row that is written. */
async function databaseProblem({ state, probe }: HomeDatabase, journal: Journal): Promise<string | null> {
  const now = state();
  if (now.kind === "unusable") return describe(now.problem);
  if (now.kind === "opening") {
    if (now.problem) return describe(now.problem);
    const seconds = Math.round((performance.now() - now.since) / 1_000);
    return seconds < LONG_OPENING_S ? null : `The database is being opened for ${seconds} s; workflows wait for it`;
  }
  const write = probe().then(() => null, (error) => `The database cannot be written: ${describe(error)}`);
  const silent = "The database does not answer; it is opened anew when it hangs";
  const problem = await withinOr(write, STATUS_PATIENCE_MS, silent);
  // A look through a journal of tens of thousands of runs may take longer than a person waits.
  return problem ?? await withinOr(damageOf(journal), STATUS_PATIENCE_MS, null);
}

/** The damage that a look through the journal finds. */
async function damageOf(journal: Journal): Promise<string | null> {
  const damage = await journal.damage().catch(describe);
  return damage === undefined
    ? null
    : `The database is damaged: ${damage}. Bring a backup back with \`agentcards restore --latest\``;
}

async function withinOr<T, U>(promise: Promise<T>, ms: number, otherwise: U): Promise<T | U> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<U>((resolve) => timer = setTimeout(() => resolve(otherwise), ms));
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function countEngines({ cluster }: Pick<Gateway, "cluster">): Promise<EngineReport["database"]["engines"]> {
  const engines = await cluster?.engines().catch(() => undefined);
  return engines ? { known: engines.length, alive: engines.filter((one) => one.is_alive).length } : null;
}

async function countRuns(workflows: ControlContext["gateway"]["workflows"]): Promise<RunCounts> {
  const open = await workflows.journal.list({ status: ["running", "paused"] });
  const running = open.filter(({ status, isHeld }) => status === "running" && isHeld).length;
  const approvals = open.filter(({ status, summary }) =>
    status === "paused" && isObject(summary.pending) && summary.pending.reason === "approval"
  );
  return { running, paused: open.length - running, approvals: approvals.length };
}

/** Every configured server as all sessions see it together. */
export async function serverReports({ sessions }: Pick<Gateway, "sessions">, asking: Session): Promise<ServerReport[]> {
  return await Promise.all(asking.status().map(({ config }) => report(sessions, asking, config.name)));
}

/** A server as all sessions see it together: running in how many, and the last thing that went wrong in any. */
async function report(sessions: ReadonlySet<Session>, asking: Session, name: string): Promise<ServerReport> {
  const config = asking.config.servers[name]!;
  const known = config.disabled ? undefined : await asking.shared.catalogues.find(config);
  const servers = new Set(
    [...sessions].filter(({ isUsable }) => isUsable).flatMap((session) =>
      session.status().find((entry) => entry.config.name === name)?.server ?? []
    ),
  );
  for (const { server } of asking.shared.sharedServers.values()) if (server.name === name) servers.add(server);
  const states = [...servers].map((server) => server.status());
  const live = states.find(({ state }) => state === "running") ?? states.find(({ state }) => state !== "stopped");
  const silent = states.find(({ silent }) => silent !== undefined)?.silent;
  const problem = config.disabled ? undefined : await asking.problemOf(name) ??
    (silent === undefined ? undefined : `Server "${name}" runs and gives no sign of life: ${silent}`);
  const needsSignIn = !config.disabled && asking.needsSignIn(name);
  const failure = config.disabled ? undefined : await asking.shared.catalogues.lastFailure(config);
  return {
    name,
    origin: config.origin,
    clients: config.clients ?? null,
    kind: config.url ? "http" : "stdio",
    state: config.disabled ? "disabled" : live?.state ?? (known ? "known" : "configured"),
    tools: known?.catalogue.tools.length ?? null,
    dropped: known?.catalogue.dropped ?? [],
    repaired: known?.catalogue.repaired ?? [],
    withheld: asking.shared.pins.withheldOf(config),
    new_tools: asking.shared.pins.newOf(config),
    running: states.filter(({ state }) => state === "running").length,
    cwd: config.disabled ? null : asking.startFolder(name) ?? null,
    start_ms: live?.startMs ?? known?.startMs ?? null,
    needs_sign_in: needsSignIn,
    seen_at: live?.state === "running" ? Date.now() : known?.seenAt ?? null,
    error: problem ?? (needsSignIn ? `needs a sign-in: agentcards login ${name}` : failure?.reason) ?? null,
    error_at: problem === undefined && !needsSignIn && failure ? failure.at : null,
    flood: sumOf(states.flatMap(({ dropped }) => dropped ?? [])),
  };
}

function sumOf(counts: readonly Dropped[]): Dropped | null {
  if (counts.length === 0) return null;
  const sum = { ...counts[0]! };
  for (const more of counts.slice(1)) for (const kind of Object.keys(sum) as (keyof Dropped)[]) sum[kind] += more[kind];
  return sum;
}
