import { AgentCardsError, spelledOut } from "../../model/mod.ts";
import type { UndoReport } from "../../snapshot/mod.ts";
import { ask } from "../ask.ts";
import { jsonLine } from "../json_out.ts";
import { confirm } from "../prompts/confirm.ts";
import { painter, type Terminal } from "../screen/terminal.ts";
import { runId } from "./find.ts";

export interface UndoOptions {
  readonly task?: string;
  readonly dryRun?: boolean;
  readonly takeBack?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** The lines of a patch that are about a file, not of it. */
const HEADER = /^(?:---|\+\+\+|diff|index|new file|deleted file|old mode|new mode)/;

/** `agentcards runs undo ID`: shows what is taken back, asks, and takes it back. */
export async function undoRun(given: string, options: UndoOptions, terminal: Terminal): Promise<number> {
  const params = {
    id: await runId(given),
    ...options.task !== undefined && { task: options.task },
    ...options.takeBack && { take_back: true },
  };
  return await undo((preview) => ask({ method: "run_undo", params: { ...params, preview } }), options, terminal);
}

/** `agentcards undo`: the same for what a client did in this folder since the last prompt. */
export async function undoPrompt(options: Omit<UndoOptions, "task">, terminal: Terminal): Promise<number> {
  const params = options.takeBack ? { take_back: true } : {};
  return await undo((preview) => ask({ method: "prompt_undo", params: { ...params, preview } }), options, terminal);
}

/** Shows an undo, asks about it where somebody is there, and makes it. */
async function undo(
  request: (preview: boolean) => Promise<UndoReport>,
  { dryRun, yes, json }: Pick<UndoOptions, "dryRun" | "yes" | "json">,
  terminal: Terminal,
): Promise<number> {
  const plan = await request(true);
  const isToBeMade = !dryRun && plan.state !== "refused";
  if (isToBeMade && !yes && (json || !terminal.isTerminal)) {
    throw new AgentCardsError("USAGE", "Nobody is here to say yes", { hint: "Look with --dry-run, then add --yes." });
  }
  if (!json) terminal.out(reportText(plan, terminal));
  if (isToBeMade && !yes && plan.state === "planned" && !await confirm("Put these files back?")) return 1;
  const report = isToBeMade ? await request(false) : plan;
  if (json) terminal.out(jsonLine(report));
  else if (report !== plan) terminal.out(endText(report));
  return report.state === "refused" ? 1 : 0;
}

function endText(report: UndoReport): string {
  if (report.state === "refused") return conflictText(report);
  const count = `${report.files.length} ${report.files.length === 1 ? "file is" : "files are"}`;
  return report.files.length === 0
    ? ""
    : `\n${count} as ${report.state === "undone" ? "before" : "before the undo"}.\n`;
}

function reportText(report: UndoReport, { color }: Terminal): string {
  const paint = painter(color);
  const { root, files, patch, notes, tasks } = report;
  if (report.state === "refused") return conflictText(report);
  if (files.length === 0) {
    return `Nothing is to be put back in ${line(root)}.\n${notes.map((note) => `${line(note)}\n`).join("")}`;
  }
  const painted = (text: string) =>
    HEADER.test(text)
      ? paint("bold", text)
      : text.startsWith("+")
      ? paint("green", text)
      : text.startsWith("-")
      ? paint("red", text)
      : text;
  return [
    `In ${line(root)}, of ${tasks.map((task) => line(task)).join(", ")}:`,
    ...files.map(({ path, change }) => `  ${change.padEnd(7)} ${line(path)}`),
    ...notes.map((note) => line(note)),
    "",
    ...spelledOut(patch).split("\n").map(painted),
  ].join("\n");
}

function conflictText({ conflicts, root }: UndoReport): string {
  const lines = conflicts.map(({ path, why }) => `  ${line(path)}: ${line(why)}`);
  return `Nothing was undone in ${line(root)}. In the way:\n${lines.join("\n")}\n`;
}

/** A name that came from elsewhere, as one line of a terminal. */
function line(text: string): string {
  return spelledOut(text).replaceAll("\n", "\\n");
}
