import { ask } from "../ask.ts";
import { jsonLine } from "../json_out.ts";
import type { Terminal } from "../screen/terminal.ts";
import { triedText, tryServer } from "./try.ts";

/** `agentcards restart SERVER` */
export async function restartServer(server: string, { json }: { json?: boolean }, terminal: Terminal): Promise<number> {
  const { stopped } = await ask({ method: "restart", params: { server } });
  if (!json) {
    terminal.out(
      stopped === 0
        ? `"${server}" was not running.\n`
        : `Stopped "${server}"${stopped > 1 ? ` (${stopped} processes)` : ""}; the next call starts it anew.\n`,
    );
  }
  const tried = await tryServer(server, terminal);
  terminal.out(json ? jsonLine({ server, stopped, tried }) : triedText(tried, terminal));
  return tried.ok ? 0 : 1;
}
