import {
  callTool,
  findTools,
  knownTools,
  reportSecrets,
  type SecretsReport,
  type Session,
  toolResultOf,
  toolsInMemory,
  valueOf,
} from "../call/mod.ts";
import type { SandboxReport } from "../code/mod.ts";
import { requireServer } from "../config/mod.ts";
import type { Journal } from "../dag/mod.ts";
import type { DatabaseState, HomeDatabase } from "../db/mod.ts";
import type { Dropped, ServerStatus } from "../mcp/mod.ts";
import { AgentCardsError, type Catalogue, describe, isObject, messageOf, tokens } from "../model/mod.ts";
import { VERSION } from "../platform/mod.ts";
import { effectOf, judge } from "../policy/mod.ts";
import type { SearchStatus } from "../vector/mod.ts";
import { fs, system } from "../platform/start.ts";
import type { ControlContext, Method, Params } from "./context.ts";
import { LEARNING_METHODS } from "./learning_methods.ts";
import { WORKFLOW_METHODS } from "./workflow_methods.ts";

/** The name under which searches are filed. */
const SEARCH = "agentcards:search_tools";
/** `status` waits so long for the database. */
const STATUS_PATIENCE_MS = 2_000;
/** An opening that takes longer is told as a problem. */
const LONG_OPENING_S = 10;
/** The time that a server may take when it is started for the first time ever. */
const FIRST_START_MS = 180_000;

/** One server as `agentcards status` shows it. */
export interface ServerReport {
  readonly name: string;
  readonly origin: "global" | "project";
  readonly kind: "stdio" | "http";
  readonly state: "disabled" | "configured" | "known" | ServerStatus["state"];
  readonly tools: number | null;
  readonly dropped: Catalogue["dropped"];
  readonly repaired: Catalogue["repaired"];
  readonly running: number;
  /** Where its program is started in this folder; null for a remote server, and where it is not started at all. */
  readonly cwd: string | null;
  readonly start_ms: number | null;
  readonly error: string | null;
  /** When that was, in milliseconds since 1970; null where it is so now. */
  readonly error_at: number | null;
  /** How many frames were left out because it sent too many, in all sessions; null where none was. */
  readonly flood: Dropped | null;
}

export interface EngineReport {
  readonly version: string;
  readonly pid: number;
  readonly uptime_ms: number;
  readonly rss_bytes: number;
  readonly connections: number;
  readonly database: {
    readonly state: DatabaseState["kind"];
    readonly bytes: number | null;
    readonly problem: string | null;
  };
  readonly calls: { readonly total: number; readonly failed: number; readonly p95_ms: number | null };
  readonly config_problem: string | null;
  readonly notes: readonly string[];
  /** The folder of whoever asks, and by whose word it is trusted. */
  readonly folder: { readonly path: string; readonly trusted_by: string | null } | null;
  readonly sandbox: SandboxReport;
  readonly minimum_level: number;
  readonly pii: "off" | "tokenize";
  readonly secrets: SecretsReport;
  readonly search: SearchReport | null;
  readonly runs: RunCounts;
  readonly suggestions: { readonly outcomes: number; readonly right: number; readonly speculate_at: number };
  readonly servers: readonly ServerReport[];
}

/** How search is, and how it did in the last day. */
export interface SearchReport extends SearchStatus {
  readonly tools: number;
  readonly queries: number;
  readonly p95_ms: number | null;
}

/** What one server's index run found. */
export interface IndexReport {
  readonly server: string;
  readonly ok: boolean;
  readonly tools: number;
  /** What its tools cost an agent that reads all of them. */
  readonly tokens: number;
  readonly ms: number;
  readonly error?: string;
}

/** What the command line can ask of the engine. */
export const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["status", async (context) => context.gateway.redactor.clean(await status(context))],
  ["search", async ({ session }, { query, limit, server }) => {
    const found = await findTools(await session, {
      query: text(query, "query"),
      limit: typeof limit === "number" ? limit : 10,
      ...typeof server === "string" && { server },
    });
    return found;
  }],
  ["tools", async ({ session }, { server }) => {
    const open = await session;
    const { tools, notes } = await knownTools(open, typeof server === "string" ? server : undefined);
    const { policy } = open.config;
    const judged = tools.map((tool) => ({
      ...tool,
      policy: judge(policy, tool.id).kind,
      effect: effectOf(policy, tool),
    }));
    return { tools: judged, notes };
  }],
  ["call", async ({ session, signal, ask, progress }, { tool, arguments: given }) => {
    const human = ask ? { kind: "here", ask, approvals: "whole" } as const : { kind: "nobody" } as const;
    const asked = { tool: text(tool, "tool"), arguments: given as Params ?? {} };
    const outcome = await callTool(await session, asked, { signal, client: { progress }, human }, "human");
    const result = toolResultOf(outcome);
    return { result, value: valueOf(result) };
  }],
  ["index", (context, { servers }) => index(context, Array.isArray(servers) ? servers.map(String) : undefined)],
  ["embed", (context) => embed(context)],
  ["backup", async ({ gateway }, { path }) => {
    const file = text(path, "path");
    await (await gateway.database()).backup(file);
    return { bytes: (await fs.stat(file)).size };
  }],
  ["accept_database", async ({ gateway }) => {
    const state = await (await gateway.database()).accept();
    return { problem: state.kind === "unusable" ? describe(state.problem) : null };
  }],
  ["accept_sandbox", async ({ gateway }) => ({ level: await gateway.code.level.accept() })],
  ...WORKFLOW_METHODS,
  ...LEARNING_METHODS,
  ["stop", ({ stop }) => {
    // The answer goes out first.
    setTimeout(stop, 10);
    return Promise.resolve({ pid: system.pid });
  }],
]);

function text(value: unknown, name: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new AgentCardsError("INPUT_INVALID", `${name} must be a text`);
}

async function status({ gateway, session }: ControlContext): Promise<EngineReport> {
  const open = await session.catch((error) => ({ problem: describe(error) }));
  const database = await gateway.database();
  // A start that takes long is told as such; one that fails at once, with its reason.
  await withinOr(database.ready(), STATUS_PATIENCE_MS, undefined);
  const problem = await databaseProblem(database, gateway.workflows.journal);
  const isOpen = problem === null && database.state().kind === "open";
  const [row] = isOpen
    ? await database.database.query<Record<"total" | "failed" | "queries", number> & { bytes: string } & Latencies>(
      `select pg_database_size(current_database()) as bytes,
         count(*) filter (where tool not like $2)::int as total, count(*) filter (where tool = $1)::int as queries,
         count(*) filter (where not ok)::int as failed,
         percentile_cont(0.95) within group (order by ms) filter (where tool not like $2) as p95,
         percentile_cont(0.95) within group (order by ms) filter (where tool = $1) as queries_p95
       from tool_call where at > now() - interval '1 day'`,
      [SEARCH, "agentcards:%"],
    ).catch(() => [])
    : [];
  const tools = "problem" in open ? [] : await toolsInMemory(open);
  const failed = "problem" in open;
  return {
    version: VERSION,
    pid: system.pid,
    uptime_ms: Math.round(performance.now()),
    rss_bytes: system.memoryUsage().rss,
    connections: gateway.sessions.size - (failed ? 0 : 1),
    database: { state: database.state().kind, bytes: row ? Number(row.bytes) : null, problem },
    calls: { total: row?.total ?? 0, failed: row?.failed ?? 0, p95_ms: row?.p95 ?? null },
    config_problem: failed ? open.problem : null,
    notes: failed ? [] : open.loaded.notes,
    folder: failed || !open.loaded.folder
      ? null
      : { path: open.loaded.folder.path, trusted_by: open.loaded.folder.trustedBy ?? null },
    sandbox: await gateway.code.level.report(),
    pii: failed ? "off" : open.config.policy.pii,
    secrets: reportSecrets(failed ? [] : open.secrets),
    minimum_level: failed ? 0 : open.config.sandbox.minimum_level,
    search: failed ? null : {
      ...open.shared.search.status(tools),
      tools: tools.length,
      queries: row?.queries ?? 0,
      p95_ms: row?.queries_p95 ?? null,
    },
    runs: isOpen ? await countRuns(gateway.workflows).catch(() => NO_RUNS) : NO_RUNS,
    suggestions: await gateway.suggestions.status().catch(() => NO_OUTCOMES),
    servers: failed
      ? []
      : await Promise.all(open.status().map(({ config }) => report(gateway.sessions, open, config.name))),
  };
}

/** Runs that are not over, and those of them that only a human can let go on. */
export interface RunCounts {
  readonly running: number;
  readonly paused: number;
  readonly approvals: number;
}

/** For as long as the database cannot be read. */
const NO_OUTCOMES: EngineReport["suggestions"] = { outcomes: 0, right: 0, speculate_at: 1 };
const NO_RUNS: RunCounts = { running: 0, paused: 0, approvals: 0 };

/** The problem of the database, found out by a look at its state and by a row that is written. */
async function databaseProblem({ state, database }: HomeDatabase, journal: Journal): Promise<string | null> {
  const now = state();
  if (now.kind === "unusable") return describe(now.problem);
  if (now.kind === "opening") {
    if (now.problem) return describe(now.problem);
    const seconds = Math.round((performance.now() - now.since) / 1_000);
    return seconds < LONG_OPENING_S ? null : `The database is being opened for ${seconds} s; workflows wait for it`;
  }
  const write = database.exec(
    "insert into config_metadata values ('probed', '0') on conflict (key) do update set value = '0'",
  ).then(() => null, (error) => `The database cannot be written: ${describe(error)}`);
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

async function countRuns(workflows: ControlContext["gateway"]["workflows"]): Promise<RunCounts> {
  const open = await workflows.journal.list({ status: ["running", "paused"] });
  const running = open.filter(({ status, isHeld }) => status === "running" && isHeld).length;
  const approvals = open.filter(({ status, summary }) =>
    status === "paused" && isObject(summary.pending) && summary.pending.reason === "approval"
  );
  return { running, paused: open.length - running, approvals: approvals.length };
}

type Latencies = Record<"p95" | "queries_p95", number | null>;

/** A server as all sessions see it together: running in how many, and the last thing that went wrong in any. */
async function report(sessions: ReadonlySet<Session>, asking: Session, name: string): Promise<ServerReport> {
  const config = asking.config.servers[name]!;
  const known = config.disabled ? undefined : await asking.shared.catalogues.find(config);
  const states = [...sessions].flatMap((session) => {
    const found = session.status().find((entry) => entry.config.name === name)?.server;
    return found ? [found.status()] : [];
  });
  const live = states.find(({ state }) => state === "running") ?? states.find(({ state }) => state !== "stopped");
  const problem = config.disabled ? undefined : await asking.problemOf(name);
  const failure = config.disabled ? undefined : await asking.shared.catalogues.lastFailure(config);
  return {
    name,
    origin: config.origin,
    kind: config.url ? "http" : "stdio",
    state: config.disabled ? "disabled" : live?.state ?? (known ? "known" : "configured"),
    tools: known?.catalogue.tools.length ?? null,
    dropped: known?.catalogue.dropped ?? [],
    repaired: known?.catalogue.repaired ?? [],
    running: states.filter(({ state }) => state === "running").length,
    cwd: config.disabled ? null : asking.startFolder(name) ?? null,
    start_ms: live?.startMs ?? known?.startMs ?? null,
    error: problem ?? failure?.reason ?? null,
    error_at: problem === undefined && failure ? failure.at : null,
    flood: sumOf(states.flatMap(({ dropped }) => dropped ?? [])),
  };
}

function sumOf(counts: readonly Dropped[]): Dropped | null {
  if (counts.length === 0) return null;
  const sum = { ...counts[0]! };
  for (const more of counts.slice(1)) for (const kind of Object.keys(sum) as (keyof Dropped)[]) sum[kind] += more[kind];
  return sum;
}

/** Starts each server once, two at a time, reads its tools and stops it again. */
async function index({ session, progress }: ControlContext, only?: string[]): Promise<IndexReport[]> {
  const open = await session;
  open.startTimeoutMs = FIRST_START_MS;
  only?.forEach((name) => requireServer(open.config, name));
  const names = open.status().map(({ config }) => config).filter(({ disabled }) => !disabled).map(({ name }) => name)
    .filter((name) => only === undefined || only.includes(name));
  const reports: IndexReport[] = [];
  const queue = [...names];
  const work = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      const report = await indexOne(open, name);
      reports.push(report);
      progress({ done: reports.length, of: names.length, ...report });
    }
  };
  await Promise.all([work(), work()]);
  return reports;
}

export interface EmbedProgress {
  readonly done: number;
  readonly of: number;
  readonly download: SearchStatus["download"];
}

export interface EmbedReport {
  readonly indexed: number;
  readonly model: string;
  readonly dimension: number | null;
}

/** Waits until every known tool can be found by what it means. */
async function embed({ session, progress }: ControlContext): Promise<EmbedReport> {
  const open = await session;
  const { search } = open.shared;
  const tools = await toolsInMemory(open);
  search.prepare(tools);
  search.warm();
  await search.settled((done, of) => progress({ done, of, download: search.status([]).download }));
  const { indexed, model, dimension } = search.status(tools);
  return { indexed, model, dimension };
}

async function indexOne(session: Session, name: string): Promise<IndexReport> {
  const began = performance.now();
  const server = session.server(name);
  const isOurs = server.status().state === "stopped";
  const ms = () => Math.round(performance.now() - began);
  try {
    const { tools } = await server.catalogue();
    const size = tools.reduce(
      (sum, { name, description, inputSchema }) => sum + JSON.stringify({ name, description, inputSchema }).length,
      0,
    );
    return { server: name, ok: true, tools: tools.length, tokens: tokens(size), ms: ms() };
  } catch (error) {
    return { server: name, ok: false, tools: 0, tokens: 0, ms: ms(), error: messageOf(error) };
  } finally {
    if (isOurs && !session.config.servers[name]?.shared) await server.stop();
  }
}
