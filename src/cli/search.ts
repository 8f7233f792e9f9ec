import { oneLine } from "../model/text.ts";
import type { Found } from "../gateway/search.ts";
import { ask } from "./ask.ts";
import { table } from "./table.ts";
import { painter, type Terminal } from "./terminal.ts";

export interface SearchCommand {
  readonly limit: number;
  readonly server?: string;
  readonly json?: boolean;
}

/** `agentcards search QUERY` */
export async function search(query: string, options: SearchCommand, terminal: Terminal): Promise<number> {
  const { limit, server } = options;
  const found = await ask<Found>({ method: "search", params: { query, limit, ...server && { server } } });
  if (options.json) {
    const tools = found.tools.map(({ tool, score }) => ({ tool: tool.id, score, description: tool.description }));
    const nearest = found.nearest.map(({ tool }) => tool.id);
    terminal.out(JSON.stringify({ tools, nearest, notes: found.notes }) + "\n");
    return 0;
  }
  const paint = painter(terminal.color);
  if (found.tools.length === 0) {
    const near = found.nearest.length ? `, nearest come ${found.nearest.map(({ tool }) => tool.id).join(", ")}` : "";
    terminal.out(`No tool fits${near}. \`agentcards tools\` lists what there is.\n`);
  } else {
    const rows = found.tools.map(({ tool, score }) => [score.toFixed(2), tool.id, oneLine(tool.description, 80)]);
    terminal.out(table([["score", "tool", "what it does"], ...rows], (text) => paint("bold", text)));
  }
  for (const note of found.notes) terminal.err(`${note}\n`);
  return 0;
}
