import { createCallStore } from "../../call/mod.ts";
import { DAY_MS } from "../../db/start.ts";
import { AgentCardsError, cut, describe, type Json } from "../../model/mod.ts";
import { system } from "../../platform/start.ts";
import { diskOf } from "../../stats/mod.ts";
import { VERSION } from "../../platform/mod.ts";
import { reportOf, reportsOf, statsOf, tasksOf, unknownRun } from "../../workflow/mod.ts";
import type { Method } from "../context.ts";
import type { NowReport } from "../reports.ts";
import { serverReports } from "./status.ts";
import { noticeOf } from "./watch.ts";

const LIVE_RUNS = 50;
const RECENT_RUNS = 8;
/** The most characters of one value on a page. */
const LONGEST_VALUE = 200_000;
const SHOWN_RUNS = 20;
const MINUTES = 60;
const SHOWN_REPORTS = 5;

export const now: Method<"now"> = async ({ gateway, session }): Promise<NowReport> => {
  const open = await session.catch((error) => ({ failure: describe(error) }));
  const usable = "failure" in open || !open.isUsable ? undefined : open;
  const isOpen = gateway.databaseState().kind === "open";
  const store = isOpen ? createCallStore((await gateway.database()).database) : undefined;
  const [figures, minutes, live, recent, servers, disk, trends, reports, kept] = await Promise.all([
    store?.figures().catch(() => undefined),
    store?.minutes(MINUTES).catch(() => undefined),
    isOpen ? reportsOf(gateway.workflows, { status: ["running", "paused"], limit: LIVE_RUNS }) : [],
    isOpen
      ? reportsOf(gateway.workflows, { status: ["completed", "partial", "failed", "aborted"], limit: RECENT_RUNS })
      : [],
    usable ? serverReports(gateway, usable) : [],
    diskOf(gateway.home.dir),
    isOpen ? gateway.stats.trends().catch(() => []) : [],
    gateway.reports.list(),
    isOpen ? gateway.stats.kept(Date.now() - DAY_MS).catch(() => null) : null,
  ]);
  const open_calls = usable?.shared.approvals.list().length ?? 0;
  const problem = "failure" in open ? open.failure : open.isUsable ? undefined : describe(open.problem);
  const state = gateway.databaseState();
  return gateway.redactor.clean({
    version: VERSION,
    pid: system.pid,
    uptime_ms: Math.round(performance.now()),
    rss_bytes: system.memoryUsage().rss,
    connections: gateway.sessions.size,
    database: state.kind,
    problems: [
      ...problem ? [problem] : [],
      ...state.kind === "unusable" ? [describe(state.problem)] : [],
      ...disk?.problem ? [disk.problem] : [],
    ],
    notes: [
      ...reports.slice(0, SHOWN_REPORTS).map(({ supervisor, text }) => `${supervisor}: ${text}`),
      ...trends.map(({ why }) => why),
    ],
    calls: { total: figures?.total ?? 0, failed: figures?.failed ?? 0, p95_ms: figures?.p95 ?? null },
    tokens_kept: kept,
    ahead: gateway.ahead.status(),
    minutes: minutes ?? [],
    runs: live,
    recent,
    waiting: live.filter(({ status }) => status === "paused").length + open_calls,
    servers: servers.map(({ name, state, error }) => ({ name, state, error })),
    folder: usable?.loaded.folder?.path ?? null,
  });
};

export const runPage: Method<"run_page"> = async ({ gateway: { workflows, redactor } }, { id }) => {
  const row = await workflows.journal.find(id);
  if (!row) throw unknownRun(id);
  // The events are read first: a page would take up those that came between the two twice, and never miss one.
  const events = await workflows.journal.events(row.id);
  const { state } = await workflows.journal.open(row.id);
  return redactor.clean({
    ...reportOf(row, state),
    reports: tasksOf(state),
    notices: events.map((event) => noticeOf(row.id, event)),
    stats: statsOf(state),
  });
};

export const runTask: Method<"run_task"> = async ({ gateway: { workflows, redactor } }, { id, task }) => {
  const row = await workflows.journal.find(id);
  if (!row) throw unknownRun(id);
  const { state } = await workflows.journal.open(row.id);
  const known = state.tasks.get(task);
  const definition = state.plan.find((one) => one.id === task);
  if (!known || !definition) throw new AgentCardsError("INPUT_INVALID", `${row.id} has no task "${cut(task, 60)}"`);
  const events = (await workflows.journal.events(row.id)).filter((event) => "task" in event && event.task === task);
  const sent = events.findLast((event) => event.kind === "started");
  let isCut = false;
  const bounded = (value: unknown): Json => {
    const json = JSON.stringify(value ?? null);
    if (json.length <= LONGEST_VALUE) return value as Json ?? null;
    isCut = true;
    return cut(json, LONGEST_VALUE);
  };
  const output = known.output?.kind === "value" ? known.output.value : known.output;
  return redactor.clean({
    id: task,
    status: known.status,
    definition: bounded(definition),
    sent: bounded(known.sent ?? (sent?.kind === "started" ? sent.arguments : null)),
    output: bounded(output),
    error: known.error ?? null,
    note: known.note ?? null,
    events: events.map((event) => bounded(event.kind === "done" ? { ...event, output: undefined } : event)),
    is_cut: isCut,
  });
};

export const runs: Method<"runs"> = async ({ gateway: { workflows } }, { limit = SHOWN_RUNS, ...filter }) => {
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
  return await reportsOf(workflows, { limit, ...given });
};
