import { oneLine } from "../../model/mod.ts";
import { ask } from "../ask.ts";
import { jsonLine } from "../json_out.ts";
import { ago } from "../screen/relative_time.ts";
import { table } from "../screen/table.ts";
import { painter, type Terminal } from "../screen/terminal.ts";

export interface ListCommand {
  readonly json?: boolean | undefined;
}

/** `agentcards engines` */
export async function engines({ json }: ListCommand, terminal: Terminal): Promise<number> {
  const found = await ask({ method: "engines" });
  if (json) terminal.out(jsonLine(found));
  else {
    const rows = found.map(({ id, host, home, owner, version, state, is_alive, is_this, runs, quiet_ms }) => [
      is_this ? `${id} (this)` : id,
      host,
      home,
      owner,
      version,
      is_alive ? state : state === "ended" ? "ended" : "lost",
      String(runs),
      ago(Date.now() - quiet_ms),
    ]);
    terminal.out(
      listed([["engine", "machine", "home", "owner", "version", "state", "runs", "seen"], ...rows], terminal),
    );
  }
  return 0;
}

/** `agentcards contexts` */
export async function contexts({ json }: ListCommand, terminal: Terminal): Promise<number> {
  const found = await ask({ method: "contexts" });
  if (json) terminal.out(jsonLine(found));
  else if (found.length === 0) terminal.out("No client has been connected in any folder yet.\n");
  else {
    const rows = found.map(({ folder, host, engine, repository, servers, is_connected, quiet_ms }) => [
      folder,
      host,
      engine,
      repository ?? "–",
      oneLine(servers.join(", "), 60) || "–",
      is_connected ? "now" : ago(Date.now() - quiet_ms),
    ]);
    terminal.out(listed([["folder", "machine", "engine", "repository", "servers", "connected"], ...rows], terminal));
  }
  return 0;
}

/** `agentcards engine drain` */
export async function drainEngine(terminal: Terminal): Promise<number> {
  const { runs } = await ask({ method: "drain" });
  const said = runs === 0 ? "No run was under way." : `${runs === 1 ? "One run" : `${runs} runs`} came to rest.`;
  terminal.out(`${said} This engine takes no more; \`agentcards engine restart\` makes it take them again.\n`);
  return 0;
}

function listed(rows: readonly (readonly string[])[], { color }: Terminal): string {
  return table(rows, (text) => painter(color)("bold", text));
}
