import type { ApprovalReport } from "../../control/mod.ts";
import { oneLine } from "../../model/mod.ts";
import { ago } from "../screen/relative_time.ts";
import { askAboutCall, canAskHere } from "./approval.ts";
import { ask } from "../ask.ts";
import { carryRun, decisionAbout } from "../runs/run_loop.ts";
import { only } from "../runs/find.ts";
import { fit, screen, widthOf } from "../screen/screen.ts";
import { table } from "../screen/table.ts";
import { painter, type Terminal } from "../screen/terminal.ts";
import { jsonLine } from "../json_out.ts";

const HEAD = ["run", "tool", "arguments", "why", "since"];

/** `agentcards approvals` */
export async function approvals({ json }: { json?: boolean }, terminal: Terminal): Promise<number> {
  const waiting = await ask({ method: "approvals" });
  if (json) terminal.out(jsonLine(waiting));
  else if (waiting.length === 0) terminal.out("No call waits for your approval.\n");
  else {
    terminal.out(
      table([HEAD, ...rowsOf(waiting, terminal.isTerminal)], (text) => painter(terminal.color)("bold", text)),
    );
    terminal.out("\n`agentcards approve RUN` shows a call whole and asks; so does `reject`.\n");
  }
  return 0;
}

const ROOM_IN_A_FILE = 200;

function rowsOf(waiting: readonly ApprovalReport[], isTerminal: boolean): string[][] {
  const texts = waiting.map(({ tool, arguments: given, why, since }) => ({
    tool: oneLine(tool, 200),
    given: oneLine(JSON.stringify(given), 500),
    why: oneLine(why.replace(/^policy\.approve has /, "approve "), 200),
    since: ago(since),
  }));
  const widest = (key: keyof typeof texts[number]) => Math.max(...texts.map((text) => widthOf(text[key])));
  const gaps = 2 * (HEAD.length - 1);
  const columns = isTerminal ? screen().columns : ROOM_IN_A_FILE;
  const room = Math.max(30, columns - widthOf(waiting[0]!.id) - widest("since") - gaps);
  const toolWidth = Math.min(widest("tool"), Math.floor(room / 3));
  const whyWidth = Math.min(widest("why"), Math.floor((room - toolWidth) / 2));
  return texts.map(({ tool, given, why, since }, i) => [
    waiting[i]!.id,
    fit(tool, toolWidth),
    fit(given, room - toolWidth - whyWidth),
    fit(why, whyWidth),
    since,
  ]);
}

/** `agentcards approve ID` and `agentcards reject ID`: there is no way to say yes beforehand, on purpose. */
export async function decideCall(
  action: "approve" | "reject",
  given: string,
  { note, terminal }: { readonly note?: string | undefined; readonly terminal: Terminal },
): Promise<number> {
  if (!canAskHere()) {
    terminal.err(
      `To ${action} a call takes a human at a terminal: run \`agentcards ${action} ${oneLine(given, 60)}\` in one.\n` +
        "There is no option that answers for you; an agent must not allow its own calls.\n",
    );
    return 1;
  }
  const approval = only(given, await ask({ method: "approvals" }));
  if (!approval) {
    terminal.err(
      `No call of "${oneLine(given, 60)}" waits for approval. \`agentcards approvals\` lists those that do.\n`,
    );
    return 1;
  }
  const question = action === "approve" ? "Allow exactly this call?" : "Refuse this call?";
  const about = note === undefined ? {} : { note };
  if (await askAboutCall(approval, { terminal, question })) {
    if (approval.task !== undefined) return await carryRun(decisionAbout(approval, action, note), { terminal });
    await ask({ method: "decide_call", params: { id: approval.id, hash: approval.hash, action, ...about } });
    terminal.out(action === "approve" ? "Allowed: the call goes on.\n" : "Refused.\n");
    return 0;
  }
  terminal.out("Nothing was decided; the call waits on.\n");
  return 1;
}
