import type { EmbedReport, IndexReport } from "../../control/mod.ts";
import { messageOf, oneLine } from "../../model/mod.ts";
import { ask } from "../ask.ts";
import { startProgress } from "../screen/progress.ts";
import { table } from "../screen/table.ts";
import { bytes, duration, painter, type Terminal } from "../screen/terminal.ts";
import { jsonLine } from "../json_out.ts";

export interface IndexCommand {
  readonly json?: boolean;
}

/** `agentcards index [SERVER…]`: reads the tools of the servers anew and learns what they mean. */
export async function index(servers: readonly string[], options: IndexCommand, terminal: Terminal): Promise<number> {
  const reports = await readServers(servers.length ? servers : undefined, terminal.isTerminal);
  const learnt = await learnTools(terminal.isTerminal).catch((error) => ({ problem: messageOf(error) }));
  const failed = reports.some(({ ok }) => !ok) || "problem" in learnt;
  if (options.json) {
    terminal.out(jsonLine({ ok: !failed, servers: reports, ...learnt }));
    return failed ? 1 : 0;
  }
  const paint = painter(terminal.color);
  const rows = reports.map(({ server, ok, tools, ms, error }) => [
    server,
    ok ? String(tools) : "–",
    duration(ms),
    ok ? "" : oneLine(error ?? "", 80),
  ]);
  if (rows.length) {
    terminal.out(table([["server", "tools", "time", "problem"], ...rows], (text) => paint("bold", text)));
  }
  for (const { server, flagged = [] } of reports) {
    for (const { tool, why } of flagged) {
      terminal.out(
        `${paint("yellow", "!")} ${server}:${oneLine(tool, 60)}, ${oneLine(why, 160)}. Read it before you use it.\n`,
      );
    }
  }
  if ("problem" in learnt) terminal.out(`${paint("red", "✗")} Search goes by words only: ${learnt.problem}\n`);
  else {terminal.out(
      `${learnt.indexed} tools can be found by meaning (${learnt.model}, ${learnt.dimension} dimensions).\n`,
    );}
  return failed ? 1 : 0;
}

/** Starts every server once and reads its tools. */
export async function readServers(
  servers: readonly string[] | undefined,
  isTerminal: boolean,
): Promise<readonly IndexReport[]> {
  const progress = await startProgress("Starting servers", isTerminal);
  try {
    return await ask({
      method: "index",
      params: { ...servers && { servers: [...servers] } },
      onProgress: ({ done, of, server }) => progress.show(done, of, server),
    });
  } finally {
    progress.end();
  }
}

/** Waits until the engine has a vector for every tool. */
export async function learnTools(isTerminal: boolean): Promise<EmbedReport> {
  const progress = await startProgress("Learning tools", isTerminal);
  try {
    return await ask({
      method: "embed",
      onProgress: ({ done, of, download }) => {
        const loading = download &&
          `downloading ${download.file} ${bytes(download.bytes)}${download.of ? ` of ${bytes(download.of)}` : ""}`;
        progress.show(done, of, loading ?? "");
      },
    });
  } finally {
    progress.end();
  }
}
