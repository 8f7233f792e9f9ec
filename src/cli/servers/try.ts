import type { IndexReport } from "../../control/mod.ts";
import { oneLine } from "../../model/mod.ts";
import { readServers } from "../tools/index_command.ts";
import { duration, painter, plural, type Terminal } from "../screen/terminal.ts";

/** What came of starting a server once. */
export type Tried = IndexReport;

/** Starts a server and reads its tools. */
export async function tryServer(name: string, terminal: Terminal): Promise<Tried> {
  const [tried] = await readServers([name], terminal.isTerminal);
  return tried ?? { server: name, ok: false, tools: 0, tokens: 0, ms: 0, error: "it is switched off" };
}

/** The outcome in one line, and what to do where it did not work. */
export function triedText({ server, ok, tools, ms, error }: Tried, { color }: Terminal): string {
  const paint = painter(color);
  if (ok) {
    return `${paint("green", "✓")} ${server} works: ${tools} ${plural(tools, "tool")}, ${duration(ms)}\n`;
  }
  return `${paint("red", "✗")} ${oneLine(error ?? "it gives no reason", 600)}\n` +
    `  It stays in the file: \`agentcards restart ${server}\` tries again, \`agentcards remove ${server}\` takes it out.\n`;
}
