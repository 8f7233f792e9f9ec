import { oneLine } from "../model/mod.ts";
import { ask } from "./ask.ts";
import { table } from "./screen/table.ts";
import { painter, type Terminal } from "./screen/terminal.ts";
import { jsonLine } from "./json_out.ts";

/** `agentcards tools [SERVER]` */
export async function tools(
  server: string | undefined,
  options: { json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const { tools, notes } = await ask({
    method: "tools",
    params: server ? { server } : {},
  });
  if (options.json) {
    terminal.out(jsonLine({ tools, notes }));
    return 0;
  }
  const paint = painter(terminal.color);
  if (tools.length === 0 && notes.length === 0) {
    terminal.out("No servers are configured yet. `agentcards init` brings yours over.\n");
    return 0;
  }
  const rows = tools.map((tool) => [
    tool.id,
    tool.policy,
    tool.effect,
    oneLine(tool.description || tool.title || "", 80),
  ]);
  const head = ["tool", "policy", "effect", "what it does"];
  if (rows.length) terminal.out(table([head, ...rows], (text) => paint("bold", text)));
  for (const note of notes) terminal.err(`${note}\n`);
  return notes.length > 0 && tools.length === 0 ? 1 : 0;
}
