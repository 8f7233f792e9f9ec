import { oneLine } from "../../model/mod.ts";
import { ask } from "../ask.ts";
import { table } from "../screen/table.ts";
import { painter, type Terminal } from "../screen/terminal.ts";
import { jsonLine } from "../json_out.ts";

export interface SearchCommand {
  readonly limit: number;
  readonly server?: string;
  readonly json?: boolean;
}

/** `agentcards search QUERY` */
export async function search(query: string, options: SearchCommand, terminal: Terminal): Promise<number> {
  const { limit, server } = options;
  const found = await ask({ method: "search", params: { query, limit, ...server && { server } } });
  const isWeak = found.tools.length === 0 && found.weak.length > 0;
  const hits = isWeak ? found.weak : found.tools;
  if (options.json) {
    const told = (some: typeof hits) =>
      some.map(({ tool, score }) => ({ tool: tool.id, score, description: tool.description }));
    terminal.out(jsonLine({ tools: told(found.tools), weak: told(found.weak), notes: found.notes }));
    return 0;
  }
  const paint = painter(terminal.color);
  if (hits.length === 0) terminal.out("No tool was found. `agentcards tools` lists what there is.\n");
  else {
    if (found.isUnlikely) terminal.out("No tool fits well. The nearest:\n");
    else if (isWeak) terminal.out("Weak matches, the best first:\n");
    const rows = hits.map(({ tool, score }) => [score.toFixed(2), tool.id, oneLine(tool.description, 80)]);
    terminal.out(table([["score", "tool", "what it does"], ...rows], (text) => paint("bold", text)));
  }
  for (const note of found.notes) terminal.err(`${note}\n`);
  return 0;
}
