import type { SpeculationReport } from "../gateway/learning_control.ts";
import { ask } from "./ask.ts";
import { duration, painter, type Terminal } from "./terminal.ts";

/** `agentcards speculation`: what calls made ahead of being asked for gained and cost. */
export async function speculation(options: { json?: boolean }, terminal: Terminal): Promise<number> {
  const report = await ask<SpeculationReport>({ method: "speculation" });
  terminal.out(options.json ? JSON.stringify(report) + "\n" : render(report, terminal));
  return 0;
}

function render(report: SpeculationReport, { color }: Terminal): string {
  const paint = painter(color);
  const { made, used, unused, precision } = report;
  const waiting = made - used - unused;
  const lines = [
    ["now", report.enabled ? "on (policy.speculate.enabled: false turns it off)" : "off, by policy.speculate.enabled"],
    ["made", `${made} calls before they were asked for${waiting > 0 ? `, ${waiting} of them still wait` : ""}`],
    ["used", precision === null ? "none yet" : `${used} (${percent(precision)})`],
    ["hits", `${percent(report.hit_rate)} of ${report.calls} calls were answered at once`],
    ["saved", duration(report.saved_ms)],
    ["wasted", `${unused} calls, ${percent(report.waste)} of the time of all; at most a tenth may be`],
  ];
  return lines.map(([name, text]) => `${paint("bold", name!.padEnd(7))} ${text}\n`).join("");
}

/** A share as people read it. */
export function percent(share: number | null): string {
  return `${((share ?? 0) * 100).toFixed(share !== null && share > 0 && share < 0.1 ? 1 : 0)} %`;
}
