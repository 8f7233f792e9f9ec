import { oneLine } from "../../model/mod.ts";
import type { Template } from "../../workflow/mod.ts";
import { ask } from "../ask.ts";
import { runId } from "./find.ts";
import { table } from "../screen/table.ts";
import { painter, type Terminal } from "../screen/terminal.ts";
import { jsonLine } from "../json_out.ts";

export interface SaveCommand {
  readonly param?: readonly string[];
  readonly description?: string;
  readonly json?: boolean;
}

/** `agentcards workflow save RUN NAME` */
export async function saveWorkflow(
  [run, name]: readonly [string, string],
  options: SaveCommand,
  terminal: Terminal,
): Promise<number> {
  const saved = await ask({
    method: "template_save",
    params: {
      run: await runId(run),
      name,
      chosen: [...options.param ?? []],
      ...options.description && { description: options.description },
    },
  });
  if (options.json) terminal.out(jsonLine(saved));
  else {
    terminal.out(`Saved as workflow:${saved.name}. It takes ${parametersText(saved)}.\n`);
    terminal.out(`Agents find it by search; \`agentcards call workflow:${saved.name}\` runs it.\n`);
  }
  return 0;
}

/** `agentcards workflow list` */
export async function listWorkflows(options: { json?: boolean }, terminal: Terminal): Promise<number> {
  const all = await ask({ method: "templates" });
  if (options.json) terminal.out(jsonLine(all));
  else if (all.length === 0) {
    terminal.out("No workflow is saved. `agentcards workflow save RUN NAME` saves one that ran.\n");
  } else {
    const paint = painter(terminal.color);
    const rows = all.map((
      one,
    ) => [`workflow:${one.name}`, String(one.tasks.length), parametersText(one), one.description]);
    terminal.out(table([["workflow", "tasks", "takes", "what it does"], ...rows], (text) => paint("bold", text)));
  }
  return 0;
}

/** `agentcards workflow remove NAME` */
export async function removeWorkflow(name: string, terminal: Terminal): Promise<number> {
  await ask({ method: "template_remove", params: { name } });
  terminal.out(`workflow:${name} is gone.\n`);
  return 0;
}

function parametersText({ parameters }: Template): string {
  const shown = parameters.map(({ name, usual }) =>
    usual === undefined ? name : `${name} (else ${oneLine(JSON.stringify(usual), 30)})`
  );
  return shown.join(", ") || "nothing";
}
