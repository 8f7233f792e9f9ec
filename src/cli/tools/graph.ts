import type { GraphReport } from "../../control/mod.ts";
import { oneLine } from "../../model/mod.ts";
import { ask } from "../ask.ts";
import { table } from "../screen/table.ts";
import { painter, type Terminal } from "../screen/terminal.ts";
import { jsonLine } from "../json_out.ts";

export interface GraphCommand {
  readonly dot?: boolean;
  readonly json?: boolean;
}

/** `agentcards graph [TOOL] [TO]`: what was learned about which tool leads to which. */
export async function graph(
  [tool, to]: readonly (string | undefined)[],
  options: GraphCommand,
  terminal: Terminal,
): Promise<number> {
  const report = await ask({
    method: "graph",
    params: { ...tool && { tool }, ...to && { to }, ...options.dot && { dot: true } },
  });
  terminal.out(options.json ? jsonLine(report) : options.dot ? report.dot! : render(report, terminal));
  return report.path === null ? 1 : 0;
}

function render(report: GraphReport, { color }: Terminal): string {
  const paint = painter(color);
  if (report.path === null) return "Nothing that was seen leads from one to the other.\n";
  if (report.path) return `${report.path.join(" → ")}\n`;
  if (!report.neighbours) {
    return `${report.tools} tools, ${report.edges} known ways from one to another. \`agentcards graph TOOL\` shows one with its neighbours, ` +
      "`agentcards graph --dot` all of them.\n";
  }
  const rows = report.neighbours.map(({ direction, tool, reason, seen, failed, trust }) => [
    direction,
    oneLine(tool, 120),
    oneLine(reason, 120),
    `${seen}${failed ? `, ${failed} failed` : ""}`,
    trust.toFixed(2),
  ]);
  const learned = rows.length
    ? table([["", "tool", "why", "seen", "trust"], ...rows], (text) => paint("bold", text))
    : `Nothing was seen before or after ${report.tool} yet.\n`;
  const promised = (report.promised ?? []).map(({ tool, path, parameter }) =>
    `  ${oneLine(`${path} → ${tool} ${parameter}`, 160)}\n`
  )
    .join("");
  return learned + (promised ? `\n${paint("bold", "What its schema promises to others:")}\n${promised}` : "");
}
