import { oneLine } from "../../model/mod.ts";
import type { RunReport } from "../../workflow/mod.ts";
import { ago } from "../screen/relative_time.ts";
import { ask } from "../ask.ts";
import { pendingWords } from "./pending_text.ts";
import { fit, screen } from "../screen/screen.ts";
import { table } from "../screen/table.ts";
import { duration, painter, type Terminal } from "../screen/terminal.ts";
import { jsonLine } from "../json_out.ts";

export interface RunsCommand {
  readonly limit: number;
  readonly json?: boolean | undefined;
}

const HEAD = ["run", "name", "status", "tasks", "took", "when"];
const MOST_IN_A_PAGE = 1_000;
/** Runs of the page before, which may come again. */
const OVERLAP = 100;
/** With fewer columns than this, a note gets a line of its own. */
const ROOM_FOR_NOTES = 120;

/** `agentcards runs` */
export async function runs({ limit, json }: RunsCommand, terminal: Terminal): Promise<number> {
  const found = await newest(limit);
  if (json) terminal.out(jsonLine(found));
  else if (found.length === 0) terminal.out("Nothing has been run yet. `agentcards run FILE.yaml` runs a workflow.\n");
  else terminal.out(listText(found, terminal));
  return 0;
}

/** The newest runs, newest first. The engine gives them in pages. */
async function newest(limit: number): Promise<RunReport[]> {
  const found = new Map<string, RunReport>();
  let before: number | undefined;
  while (found.size < limit) {
    const count = Math.min(MOST_IN_A_PAGE, limit - found.size + OVERLAP);
    const page = await ask({ method: "runs", params: { limit: count, ...before !== undefined && { before } } });
    const known = found.size;
    for (const run of page) found.set(run.id, run);
    if (page.length < count || found.size === known) break;
    // Runs that were created in the same millisecond may stand on both sides of the border.
    before = page.at(-1)!.created + 1;
  }
  return [...found.values()].slice(0, limit);
}

function listText(found: readonly RunReport[], { isTerminal, color }: Terminal): string {
  const bold = (text: string) => painter(color)("bold", text);
  const { columns } = screen();
  const isShared = found.some(({ engine }) => engine !== null);
  const rows = found.map((run) => isShared ? [...rowOf(run), run.machine ?? "–"] : rowOf(run));
  const heading = isShared ? [...HEAD, "machine"] : HEAD;
  const notes = found.map(noteOf);
  if (!isTerminal || columns >= ROOM_FOR_NOTES) {
    return table([[...heading, "note"], ...rows.map((row, i) => [...row, notes[i]!])], bold);
  }
  const [head, ...lines] = table([heading, ...rows], bold).trimEnd().split("\n");
  const noted = lines.flatMap((line, i) => notes[i] ? [line, fit(`    ${notes[i]}`, columns)] : [line]);
  return [head, ...noted].join("\n") + "\n";
}

const NAME_COLUMNS = 20;

function rowOf({ id, name, status, tasks, succeeded, ms, created }: RunReport): string[] {
  return [
    id,
    fit(oneLine(name), NAME_COLUMNS) || "–",
    status,
    tasks === 0 ? "–" : `${succeeded}/${tasks}`,
    ms === 0 ? "–" : duration(ms),
    ago(created),
  ];
}

function noteOf({ status, pending, error }: RunReport): string {
  if (status === "paused" && pending) return `waits: ${pendingWords(pending)}`;
  return error === null || status === "aborted" ? "" : oneLine(error, 200);
}
