import { locateHome } from "../config/start.ts";
import type { EngineReport, SearchReport, ServerReport } from "../control/mod.ts";
import { oneLine } from "../model/mod.ts";
import { ago } from "./screen/relative_time.ts";
import { ask } from "./ask.ts";
import { readServers } from "./tools/index_command.ts";
import { screen, wrap } from "./screen/screen.ts";
import { table } from "./screen/table.ts";
import { bytes, duration, painter, type Terminal } from "./screen/terminal.ts";
import { jsonLine } from "./json_out.ts";

export interface StatusCommand {
  readonly verbose?: boolean;
  /** Tries every server first. */
  readonly check?: boolean;
  readonly json?: boolean;
}

/** `agentcards status`: how everything is; 1 when something that the user configured does not work. */
export async function status(options: StatusCommand, terminal: Terminal): Promise<number> {
  const home = locateHome();
  if (options.check) await readServers(undefined, terminal.isTerminal).catch(() => {});
  const report = await ask({ method: "status" });
  // The door of the room would load all that reads and writes files of configuration.
  const { readableByOthers }: typeof import("../config/secrets.ts") = await import("../config/secrets.ts" as string);
  const exposed = await readableByOthers([home.dir, home.secrets]);
  const problems = findProblems(report, exposed);
  if (options.json) {
    terminal.out(jsonLine({ ok: problems.length === 0, home: home.dir, ...report, problems }));
  } else terminal.out(render(report, { options, terminal, problems, home: home.dir }));
  return problems.length === 0 ? 0 : 1;
}

function findProblems(report: EngineReport, exposed: readonly string[]): string[] {
  return [
    ...report.config_problem ? [report.config_problem] : [],
    ...report.database.problem ? [report.database.problem] : [],
    ...report.search?.problem ? [`Search goes by words only: ${report.search.problem}`] : [],
    ...report.search?.next?.problem ? [`Search stays with ${report.search.model}: ${report.search.next.problem}`] : [],
    ...report.servers.filter(({ error }) => error).map(({ name, error }) =>
      error!.includes(`"${name}"`) ? error! : `Server "${name}": ${error}`
    ),
    ...exposed.map((path) => `${path} can be read by others; run: chmod go-rwx '${path}'`),
    ...report.disk?.problem ? [report.disk.problem] : [],
    ...report.audit.problem
      ? [`The audit cannot be written: ${report.audit.problem}; nothing that acts is called until it can`]
      : [],
    ...report.sandbox.problem
      ? [`${report.sandbox.problem}: no code runs; \`agentcards sandbox accept\` lets it run at this level`]
      : [],
    ...report.sandbox.level < report.minimum_level
      ? [`sandbox.minimum_level is ${report.minimum_level}, this machine offers ${report.sandbox.level}`]
      : [],
  ];
}

/** The columns of a label and the space after it. */
const LABEL_COLUMNS = 10;

interface View {
  readonly options: StatusCommand;
  readonly terminal: Terminal;
  readonly problems: readonly string[];
  readonly home: string;
}

function databaseText({ bytes: size, problem, state, engines }: EngineReport["database"]): string {
  if (size === null) return problem ? "not usable" : state;
  return engines ? `${bytes(size)} on a server, ${engines.alive} of ${engines.known} engines alive` : bytes(size);
}

function render(report: EngineReport, view: View): string {
  const paint = painter(view.terminal.color);
  const { calls, database } = report;
  const lines = [
    [
      "engine",
      `version ${report.version}, process ${report.pid}, up ${duration(report.uptime_ms)}, ${bytes(report.rss_bytes)}`,
    ],
    ["clients", `${report.connections} connected`],
    ["home", view.home],
    ...report.folder ? [["folder", folderText(report.folder)]] : [],
    ["database", databaseText(database)],
    [
      "calls",
      `${calls.total} in the last day, ${calls.failed} failed${
        calls.p95_ms === null ? "" : `, p95 ${duration(calls.p95_ms)}`
      }`,
    ],
    ["sandbox", sandboxText(report.sandbox)],
    ["secrets", secretsText(report.secrets)],
    ["audit", auditText(report.audit)],
    ["pins", pinsText(report)],
    ...report.pii === "tokenize" ? [["privacy", "agents see tokens instead of personal data"]] : [],
    ...report.analytics ? [["analytics", analyticsText(report.analytics)]] : [],
    ["workflows", runsText(report.runs)],
    ["plans", plansText(report.suggestions)],
    ["read ahead", aheadText(report.ahead)],
    ["search", report.search ? searchText(report.search) : "not usable"],
  ];
  const columns = view.terminal.isTerminal ? screen().columns : Infinity;
  const head = lines.map(([name, text]) => {
    const [first, ...rest] = wrap(text!, columns - LABEL_COLUMNS);
    const indented = rest.map((line) => `\n${" ".repeat(LABEL_COLUMNS)}${line}`).join("");
    return `${paint("bold", name!.padEnd(LABEL_COLUMNS - 1))} ${first}${indented}`;
  }).join("\n");
  const servers = report.servers.length
    ? serverTable(report.servers, (text) => paint("bold", text))
    : report.config_problem
    ? ""
    : "No servers are configured. `agentcards init` brings yours over.\n";
  const details = view.options.verbose ? report.servers.flatMap(notesOf) : [];
  const floods = [...report.servers.flatMap(withheldNotes), ...report.servers.flatMap(floodNote)];
  const trends = report.trends.map(({ why }) => oneLine(why, 300));
  const notes = [...report.notes, ...trends, ...secretNotes(report.secrets), ...floods, ...details].map((note) =>
    `${note}\n`
  )
    .join("");
  const trouble = view.problems.length
    ? view.problems.map((problem) => `${paint("red", "✗")} ${wrap(problem, columns - 2).join("\n  ")}\n`).join("")
    : `${paint("green", "✓")} ${allWell(report)}\n`;
  return `${head}\n\n${servers}\n${notes}${trouble}`;
}

function analyticsText({ seq, waiting_bytes, problem }: NonNullable<EngineReport["analytics"]>): string {
  const waiting = waiting_bytes > 0 ? `, ${bytes(waiting_bytes)} wait` : "";
  return problem === null ? `copied up to row ${seq}${waiting}` : `away: ${oneLine(problem, 200)}${waiting}`;
}

function secretsText({ names }: EngineReport["secrets"]): string {
  return names.length === 0 ? "none are configured" : names.map(({ name }) => name).join(", ");
}

function secretNotes({ too_short, in_arguments }: EngineReport["secrets"]): string[] {
  const list = (names: typeof too_short) =>
    names.map(({ name, places }) => `${name} (${places.join(", ")})`).join(", ");
  return [
    ...too_short.length ? [`Too short to be taken out of results and logs: ${list(too_short)}`] : [],
    ...in_arguments.length
      ? [
        `Other users of this machine can read the arguments of programs, and so ${list(in_arguments)}; use env instead`,
      ]
      : [],
  ];
}

function folderText({ path, trusted_by }: NonNullable<EngineReport["folder"]>): string {
  if (trusted_by === null) {
    return `${path} is not trusted: no server is started in it; \`agentcards trust\` changes that`;
  }
  return `${path}, trusted by ${trusted_by === "claude-code" ? "Claude Code's record" : "`agentcards trust`"}`;
}

function sandboxText({ level, why, stronger }: EngineReport["sandbox"]): string {
  return `level ${level} (${why})${stronger ? `; for a stronger one, ${stronger}` : ""}`;
}

function auditText({ last, signed, anchored }: EngineReport["audit"]): string {
  const place = anchored ? "heads are kept elsewhere, too" : "no head is kept elsewhere (audit.head_to)";
  return `${last} rows, signed up to ${signed}; ${place}`;
}

/** The state of the pinned definitions. */
function pinsText({ servers, pins_problem }: EngineReport): string {
  const count = (of: (server: ServerReport) => number) => servers.reduce((sum, server) => sum + of(server), 0);
  const [withheld, added] = [count((one) => one.withheld.length), count((one) => one.new_tools.length)];
  return [
    withheld === 0 ? "nothing is withheld" : `${withheld} withheld until you look at them (\`agentcards review\`)`,
    ...added > 0 ? [`${added} new ${added === 1 ? "tool" : "tools"}`] : [],
    ...pins_problem === null ? [] : [pins_problem],
  ].join("; ");
}

function withheldNotes({ name, withheld }: ServerReport): string[] {
  return withheld.slice(0, SHOWN_WITHHELD).map(({ kind, name: entry, why }) =>
    `${name}: ${kind === "instructions" ? "its instructions are" : `the ${kind} ${oneLine(entry, 100)} is`} withheld: ${
      oneLine(why, 200)
    }`
  );
}

const SHOWN_WITHHELD = 10;

function runsText({ running, paused, approvals }: EngineReport["runs"]): string {
  const waiting = approvals ? ` (${approvals} for your approval: \`agentcards approvals\`)` : "";
  return `${running} running, ${paused} waiting${waiting}`;
}

function searchText(
  { model, dimension, state, indexed, tools, queries, p95_ms, next, download }: SearchReport,
): string {
  const parts = [
    state === "off"
      ? "by words and names only (profile: minimal)"
      : `${model}${dimension === null ? "" : ` (${dimension} dimensions)`}${state === "loading" ? ", loading" : ""}`,
    ...state === "off" ? [] : [`${indexed} of ${tools} tools indexed`],
    `${queries} queries in the last day${p95_ms === null ? "" : `, p95 ${duration(p95_ms)}`}`,
    ...next ? [`changing to ${next.model}: ${next.done} of ${next.of} tools`] : [],
    ...download
      ? [`downloading ${download.file}: ${bytes(download.bytes)}${download.of ? ` of ${bytes(download.of)}` : ""}`]
      : [],
  ];
  return parts.join("; ");
}

function allWell({ servers }: EngineReport): string {
  const untried = servers.filter(({ state }) => state === "configured").length;
  if (servers.length === 0) return "the engine works";
  return untried === 0
    ? "everything that is configured works"
    : `nothing is wrong so far; ${untried} of ${servers.length} servers not tried yet (\`agentcards status --check\` tries all)`;
}

const SERVER_HEAD = ["server", "state", "tools", "start", "worked", "from", "last error"];

/** One line for each server; with a column for its clients where some server is not for all. */
function serverTable(servers: readonly ServerReport[], paint: (text: string) => string): string {
  const isRestricted = servers.some(({ clients }) => clients !== null);
  const rows = servers.map((server) => [...serverRow(server), ...isRestricted ? [clientsText(server)] : []]);
  return table([[...SERVER_HEAD, ...isRestricted ? ["for"] : []], ...rows], paint);
}

const clientsText = ({ clients }: ServerReport) => clients === null ? "all" : clients.join(", ") || "no client";

function serverRow(server: ServerReport): string[] {
  return [
    server.name,
    server.running > 1 ? `${stateText(server)} ×${server.running}` : stateText(server),
    server.tools === null ? "–" : String(server.tools),
    server.start_ms === null ? "–" : duration(server.start_ms),
    server.seen_at === null ? "never" : ago(server.seen_at),
    server.origin,
    server.error
      ? oneLine(server.error_at === null ? server.error : `${ago(server.error_at)}: ${server.error}`, 80)
      : "",
  ];
}

/** A state in the words of a user. */
function stateText({ state, error, needs_sign_in }: ServerReport): string {
  if (needs_sign_in) return "needs sign-in";
  if (state === "configured" || state === "known") return error ? "failing" : state === "known" ? "ready" : "not tried";
  return state;
}

/** Where a server runs, and tools that could not be taken as they came. */
function notesOf({ name, cwd, dropped, repaired }: ServerReport): string[] {
  return [
    ...cwd === null ? [] : [`${name} runs in ${cwd}`],
    ...dropped.map(({ tool, why }) => `${name}:${tool} was left out: ${oneLine(why, 160)}`),
    ...repaired.map(({ tool, why }) => `${name}:${tool} was mended: ${oneLine(why, 160)}`),
  ];
}

/** How much of a server's output was left out. */
function floodNote({ name, flood }: ServerReport): string[] {
  if (!flood) return [];
  const counts = Object.entries(flood).filter(([, count]) => count > 0).map(([kind, count]) => `${count} ${kind}`);
  return [`${name} sent more than it may; left out: ${counts.join(", ")}`];
}

function aheadText({ made, used }: EngineReport["ahead"]): string {
  return made === 0 ? "nothing yet" : `${made} ${made === 1 ? "read" : "reads"}, ${used} seen to be of use`;
}

function plansText({ outcomes, right, speculate_at }: EngineReport["suggestions"]): string {
  const known = outcomes === 0 ? "none judged yet" : `${right} of the last ${outcomes} suggestions were wanted`;
  return `${known}; what only reads is run at once from a confidence of ${speculate_at} on`;
}
