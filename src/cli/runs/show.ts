import type { RunProgress } from "../../control/mod.ts";
import { oneLine } from "../../model/mod.ts";
import type { PendingView, RunDetails } from "../../workflow/mod.ts";
import { ago } from "../screen/relative_time.ts";
import { ask } from "../ask.ts";
import { runId } from "./find.ts";
import { pendingLines, pendingWords } from "./pending_text.ts";
import { spansOf } from "./spans.ts";
import { valuesText } from "./values.ts";
import { watchRun } from "./watch.ts";
import { fit, screen, wrap } from "../screen/screen.ts";
import { duration, painter, type Terminal } from "../screen/terminal.ts";
import { clockTime, decisions, timeline } from "./timeline.ts";
import { jsonLine } from "../json_out.ts";

/** Without a terminal there is room to spare. */
const COLUMNS_IN_A_FILE = 120;

interface ShowOptions {
  readonly json?: boolean;
  readonly follow?: boolean;
  /** Values are not cut to a line. */
  readonly full?: boolean;
}

const INTERRUPTED = 130;

/** `agentcards runs show ID` */
export async function showRun(
  given: string,
  { json, follow, full = false }: ShowOptions,
  terminal: Terminal,
): Promise<number> {
  const params = { id: await runId(given) };
  if (follow && json) return await printEvents(params.id, terminal);
  if (follow) {
    const watched = await watchRun({ method: "observe", params }, terminal);
    if ("stopped" in watched) return INTERRUPTED;
    terminal.out(detailsText(watched.answer, full, terminal));
    return 0;
  }
  const details = await ask({ method: "run_show", params });
  terminal.out(json ? jsonLine(details) : detailsText(details, full, terminal));
  return 0;
}

/** Prints every event of a run as one line of JSON, from the first one on, until the run ends. */
async function printEvents(id: string, terminal: Terminal): Promise<number> {
  const onProgress = (value: RunProgress) => "event" in value && terminal.out(jsonLine(value.event));
  await ask({ method: "observe", params: { id }, onProgress });
  return 0;
}

function detailsText(details: RunDetails, isFull: boolean, { isTerminal, color }: Terminal): string {
  const columns = isTerminal ? screen().columns : COLUMNS_IN_A_FILE;
  const paint = painter(color);
  const decided = decisions(details.events, { columns });
  const sections = [
    headLines(details).map(([label, text]) => `${paint("bold", label.padEnd(8))} ${fit(text, columns - 9)}`),
    timeline(details, { columns, paint, now: Date.now() }),
    valuesText(details.events, { columns, isFull }),
    decided,
    details.stats.sequential_ms > 0 ? wrap(statsLine(details), columns) : [],
    details.pending ? pendingLines(details.id, details.pending) : [],
  ];
  return sections.filter((lines) => lines.length > 0).map((lines) => lines.join("\n")).join("\n\n") + "\n";
}

function headLines(details: RunDetails): [string, string][] {
  const { id, name, status, cwd, created, ms, tasks, succeeded, error, pending, events } = details;
  const took = status === "running" ? `${duration(spansOf(events, Date.now()).length)} so far` : duration(ms);
  const started = `${new Date(created).toLocaleDateString("sv")} ${clockTime(created)} (${ago(created)})`;
  return [
    ["run", `${id}${name ? `  ${oneLine(name, 200)}` : ""}`],
    ["status", status],
    ["folder", oneLine(cwd, 1_000)],
    ["started", started],
    ["took", `${took}; ${count(succeeded)} of ${count(tasks)} tasks succeeded`],
    ...optionLines(events),
    ...error === null || status === "aborted" ? [] : [["error", oneLine(error, 500)] satisfies [string, string]],
    ...pending ? [["waits", waitingText(pending)] satisfies [string, string]] : [],
  ];
}

/** The options that change how it runs, and the arguments that were filled in. */
function optionLines([first]: RunDetails["events"]): [string, string][] {
  const { priority, inferred = [] } = first?.kind === "planned" ? first.options ?? {} : {};
  return [
    ...priority === undefined ? [] : [["priority", `${priority} of 5`] satisfies [string, string]],
    ...inferred.map(({ task, parameter, value, why }): [string, string] => [
      "inferred",
      oneLine(`${task}.${parameter} ← ${value}: ${why}`, 300),
    ]),
  ];
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

function waitingText(pending: PendingView): string {
  const words = pendingWords(pending);
  return pending.reason === "approval" && pending.why ? `${words}: ${oneLine(pending.why, 300)}` : words;
}

function statsLine({ stats, status }: RunDetails): string {
  const { wall_ms, critical_path_ms, sequential_ms } = stats;
  const together = `critical path ${duration(critical_path_ms)}, all tasks together ${duration(sequential_ms)}`;
  const factor = sequential_ms / Math.max(1, wall_ms);
  return status === "completed" && factor >= 1.1
    ? `${together}: ${factor.toFixed(1)}x as fast as one by one`
    : together;
}
