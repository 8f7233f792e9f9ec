import { oneLine, sanitise } from "../../model/mod.ts";
import type { TriggerReport } from "../../workflow/mod.ts";
import { ask } from "../ask.ts";
import { jsonLine } from "../json_out.ts";
import { canAskHere } from "../prompts/approval.ts";
import { confirm } from "../prompts/confirm.ts";
import { exitCodeOf, printAnswer } from "../runs/answer.ts";
import { ago } from "../screen/relative_time.ts";
import { table } from "../screen/table.ts";
import { painter, type Terminal } from "../screen/terminal.ts";
import { hasService } from "../service/service.ts";

/** `agentcards triggers` */
export async function listTriggers({ json }: { json?: boolean }, terminal: Terminal): Promise<number> {
  const all = await ask({ method: "triggers" });
  if (json) terminal.out(jsonLine(all));
  else if (all.length === 0) terminal.out("No workflow says when it starts. Add a list `on:` to the file of one.\n");
  else {
    const rows = all.map((
      one,
    ) => [`workflow:${one.name}`, one.on.join(", "), stateText(one), lastText(one), nextText(one)]);
    terminal.out(
      table(
        [["workflow", "starts", "state", "last", "next"], ...rows],
        (text) => painter(terminal.color)("bold", text),
      ),
    );
    if (all.some(({ state }) => state === "on")) {
      const back = await hasService()
        ? "when you log in: it is a service"
        : "with your first client; `agentcards service install` has it start when you log in";
      terminal.out(`\nThe engine stays while one is on. After a restart of the machine it is back ${back}.\n`);
    }
  }
  return all.some(({ state }) => state === "stopped" || state === "gone") ? 1 : 0;
}

function stateText({ state, why }: TriggerReport): string {
  if (state === "changed") return "off: its file has changed";
  if (state === "gone") return "off: its file is gone";
  return state === "stopped" ? `off: ${oneLine(why ?? "", 100)}` : state;
}

function lastText({ last }: TriggerReport): string {
  if (!last) return "";
  const about = last.run ?? (last.why === undefined ? "" : `(${oneLine(last.why, 200)})`);
  return `${last.state} ${ago(last.at)} ${about}`.trim();
}

const nextText = ({ next }: TriggerReport) => next === undefined ? "" : new Date(next).toLocaleString("sv");

/** `agentcards triggers on NAME`: shows the whole text, and asks; there is no way to say yes beforehand, on purpose. */
export async function switchOn(name: string, terminal: Terminal): Promise<number> {
  if (!canAskHere()) {
    terminal.err(
      `To switch a workflow on takes a human at a terminal: run \`agentcards triggers on ${
        oneLine(name, 60)
      }\` in one.\n` +
        "There is no option that answers for you; an agent must not start its own work.\n",
    );
    return 1;
  }
  const shown = await ask({ method: "trigger_show", params: { name } });
  const paint = painter(terminal.color);
  const line = (label: string, text: string) =>
    terminal.out(`${paint("bold", label.padEnd(8))} ${oneLine(text, 500)}\n`);
  line("workflow", `workflow:${shown.name}`);
  line("file", shown.path);
  line("starts", shown.on.join(", "));
  line("runs in", shown.folder ?? "a neutral folder, with the variables of secrets.env only");
  terminal.out(`\n${sanitise(shown.text).trimEnd()}\n\n`);
  for (const what of shown.missing) terminal.out(`${paint("yellow", "!")} ${oneLine(what, 300)}\n`);
  if (shown.state === "on") {
    terminal.out("It is on already.\n");
    return 0;
  }
  if (!await confirm("Start exactly this text by itself, with nobody present?")) {
    terminal.out("Nothing was switched on.\n");
    return 1;
  }
  const on = await ask({ method: "trigger_on", params: { name, hash: shown.hash } });
  terminal.out(
    `On.${
      on.next === undefined ? "" : ` It starts next at ${nextText(on)}.`
    } Any change to the file switches it off.\n`,
  );
  return 0;
}

/** `agentcards triggers off NAME` */
export async function switchOff(name: string, terminal: Terminal): Promise<number> {
  const { off } = await ask({ method: "trigger_off", params: { name } });
  for (const path of off) terminal.out(`${path} does not start by itself any more.\n`);
  return 0;
}

/** `agentcards triggers try NAME` */
export async function tryTrigger(name: string, { json }: { json?: boolean }, terminal: Terminal): Promise<number> {
  const answer = await ask({ method: "trigger_try", params: { name } });
  if (json) terminal.out(jsonLine(answer));
  else printAnswer(answer, terminal);
  return exitCodeOf(answer);
}
