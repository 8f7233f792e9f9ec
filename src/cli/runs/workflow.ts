import type { SavedReport } from "../../control/mod.ts";
import { AgentCardsError, isObject, oneLine, sanitise } from "../../model/mod.ts";
import { basename } from "node:path";
import { ask } from "../ask.ts";
import { runId } from "./find.ts";
import { carryRun } from "./run_loop.ts";
import { table } from "../screen/table.ts";
import { painter, type Terminal } from "../screen/terminal.ts";
import { jsonLine } from "../json_out.ts";
import { inputFrom, readWorkflowFile } from "./workflow_file.ts";

export interface SaveCommand {
  readonly param?: readonly string[];
  readonly description?: string;
  readonly replace?: boolean;
  readonly json?: boolean;
}

/** `agentcards workflow save RUN NAME` */
export async function saveWorkflow(
  [run, name]: readonly [string, string],
  { param = [], description, replace, json }: SaveCommand,
  terminal: Terminal,
): Promise<number> {
  const saved = await ask({
    method: "workflow_save",
    params: {
      run: await runId(run),
      name,
      chosen: [...param],
      ...description && { description },
      ...replace && { replace },
    },
  });
  told(saved, { json, terminal });
  return 0;
}

/** `agentcards workflow import FILE [NAME]` */
export async function importWorkflow(
  [path, name]: readonly [string, string | undefined],
  { replace, json }: { replace?: boolean; json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const text = await readWorkflowFile(path);
  const bare = name ?? basename(path).replace(/\.(ya?ml|json)$/, "");
  told(await ask({ method: "workflow_import", params: { name: bare, text, ...replace && { replace } } }), {
    json,
    terminal,
  });
  return 0;
}

function told(saved: SavedReport, { json, terminal }: { json: boolean | undefined; terminal: Terminal }): void {
  if (json) return terminal.out(jsonLine(saved));
  terminal.out(`Saved as workflow:${saved.name} in ${saved.path}\n`);
  terminal.out(`It takes ${parametersText(saved)}.\n`);
  terminal.out(`Agents find it by search; \`agentcards workflow run ${saved.name}\` runs it.\n`);
}

/** `agentcards workflow list` */
export async function listWorkflows(options: { json?: boolean }, terminal: Terminal): Promise<number> {
  const all = await ask({ method: "workflows" });
  if (options.json) terminal.out(jsonLine(all));
  else if (all.length === 0) {
    terminal.out("No workflow is saved. `agentcards workflow save RUN NAME` saves one that ran.\n");
  } else {
    const paint = painter(terminal.color);
    const usable = all.filter(({ problem }) => problem === undefined);
    const rows = usable.map((
      one,
    ) => [`workflow:${one.name}`, String(one.tasks), parametersText(one), one.description]);
    if (rows.length > 0) {
      terminal.out(table([["workflow", "tasks", "takes", "what it does"], ...rows], (text) => paint("bold", text)));
    }
    for (const { problem } of all) {
      if (problem !== undefined) terminal.out(`${paint("red", "✗")} ${sanitise(problem)}\n`);
    }
  }
  return all.some(({ problem }) => problem !== undefined) ? 1 : 0;
}

/** `agentcards workflow show NAME` and `workflow export NAME`: the latter prints the file alone. */
export async function showWorkflow(
  name: string,
  { json, isBare }: { json?: boolean | undefined; isBare?: boolean },
  terminal: Terminal,
): Promise<number> {
  const found = await ask({ method: "workflow_show", params: { name } });
  if (json) terminal.out(jsonLine(found));
  else if (isBare) terminal.out(found.text);
  else {
    const paint = painter(terminal.color);
    const line = (label: string, text: string) =>
      terminal.out(`${paint("bold", label.padEnd(8))} ${oneLine(text, 500)}\n`);
    line("workflow", `workflow:${found.name}${found.version === undefined ? "" : `  version ${found.version}`}`);
    line("file", found.path);
    if (found.description) line("does", found.description);
    line("takes", parametersText(found));
    terminal.out(`\n${sanitise(found.text).trimEnd()}\n`);
  }
  return 0;
}

/** `agentcards workflow run NAME [INPUT...]` */
export async function runWorkflow(
  [name, words]: readonly [string, readonly string[]],
  { json }: { json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const saved = name.replace(/^workflow:/, "");
  return await carryRun({ method: "run", params: { saved, input: inputFrom(words) } }, { json, terminal });
}

/** `agentcards workflow suggest [--save ID --name NAME]` */
export async function suggestWorkflows(
  { save, name, json }: { readonly save?: string; readonly name?: string; readonly json?: boolean },
  terminal: Terminal,
): Promise<number> {
  if ((save === undefined) !== (name === undefined)) {
    throw new AgentCardsError("USAGE", "--save ID and --name NAME belong together");
  }
  const params = save !== undefined && name !== undefined ? { save: { id: save, name } } : {};
  const { offers, saved } = await ask({ method: "workflow_suggest", params });
  if (saved) {
    told(saved, { json, terminal });
    return 0;
  }
  if (json) terminal.out(jsonLine({ offers }));
  else if (offers.length === 0) {
    terminal.out("No chain of calls came back three times with values that flow from one call into the next.\n");
  }
  const paint = painter(terminal.color);
  for (const { id, times, tools, text } of json ? [] : offers) {
    terminal.out(`${paint("bold", id)}  ${times} times: ${oneLine(tools.join(" → "), 300)}\n`);
    terminal.out(`${sanitise(text).trimEnd().replace(/^/gm, "  ")}\n`);
    terminal.out(`  agentcards workflow suggest --save ${id} --name NAME\n\n`);
  }
  return 0;
}

/** `agentcards workflow schema` */
export async function printSchema(terminal: Terminal): Promise<number> {
  const { workflowSchema } = await import("../../workflow/mod.ts");
  terminal.out(`${JSON.stringify(workflowSchema(), null, 2)}\n`);
  return 0;
}

/** `agentcards workflow remove NAME` */
export async function removeWorkflow(name: string, terminal: Terminal): Promise<number> {
  const { removed, path } = await ask({ method: "workflow_remove", params: { name } });
  terminal.out(`workflow:${removed} is gone, and its file ${path}.\n`);
  return 0;
}

function parametersText({ parameters }: SavedReport): string {
  const properties = isObject(parameters?.properties) ? Object.entries(parameters.properties) : [];
  const shown = properties.map(([name, one]) =>
    isObject(one) && "default" in one ? `${name} (else ${oneLine(JSON.stringify(one.default), 30)})` : name
  );
  return shown.join(", ") || "nothing";
}
