import type { JudgedTool } from "../../control/mod.ts";
import { AgentCardsError, nearest, oneLine } from "../../model/mod.ts";
import { ask } from "../ask.ts";
import { table } from "../screen/table.ts";
import { painter, type Terminal } from "../screen/terminal.ts";
import { jsonLine } from "../json_out.ts";
import { onlyFor, toolText } from "./show.ts";

/** `agentcards tools [SERVER | SERVER:TOOL]` */
export async function tools(
  given: string | undefined,
  options: { json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const [server, tool] = partsOf(given);
  const { tools, notes } = await ask({ method: "tools", params: server ? { server } : {} });
  const shown = tool === undefined ? tools : [toolOf(tools, { server: server!, tool, notes })];
  if (options.json) {
    terminal.out(jsonLine({ tools: shown, notes }));
    return 0;
  }
  if (tool !== undefined) {
    terminal.out(toolText(shown[0]!, terminal));
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
  const restricted = new Map(tools.flatMap(({ server, clients }) => clients ? [[server, clients]] : []));
  for (const [server, clients] of restricted) terminal.out(`${server} is for ${onlyFor(clients)}\n`);
  for (const note of notes) terminal.err(`${note}\n`);
  return notes.length > 0 && tools.length === 0 ? 1 : 0;
}

/** Tools have colons in their names, servers have none. */
function partsOf(given: string | undefined): [server?: string, tool?: string] {
  const at = given?.indexOf(":") ?? -1;
  return at < 0 ? [given] : [given!.slice(0, at), given!.slice(at + 1)];
}

interface Wanted {
  readonly server: string;
  readonly tool: string;
  readonly notes: readonly string[];
}

function toolOf(tools: readonly JudgedTool[], { server, tool, notes }: Wanted): JudgedTool {
  const found = tools.find(({ name }) => name === tool);
  if (found) return found;
  const near = nearest(tool, tools.map(({ name }) => name)).map((name) => `${server}:${name}`);
  throw new AgentCardsError("TOOL_UNKNOWN", `There is no tool "${server}:${tool}"`, {
    hint: near.length > 0
      ? `Nearest: ${near.join(", ")}.`
      : notes.join(" ") || `\`agentcards tools ${server}\` lists them.`,
  });
}
