import type { RunBody } from "../../workflow/mod.ts";
import type { ApprovalReport } from "../../control/mod.ts";
import { askAboutCall, canAskHere } from "../prompts/approval.ts";
import { ask, type Question } from "../ask.ts";
import { exitCodeOf, printAnswer } from "./answer.ts";
import type { Terminal } from "../screen/terminal.ts";
import { watchRun } from "./watch.ts";
import { jsonLine } from "../json_out.ts";

export interface CarryOptions {
  readonly json?: boolean | undefined;
  readonly terminal: Terminal;
  /** The reason of a decision. */
  readonly note?: string | undefined;
}

/** A request that runs something, or goes on with a run. */
export type RunQuestion = Omit<Question<"run">, "onProgress"> | Omit<Question<"decide">, "onProgress">;

const INTERRUPTED = 130;

/** Runs or goes on with a run, asks for approvals where a human is there, and prints what came of it. */
export async function carryRun(question: RunQuestion, options: CarryOptions): Promise<number> {
  const { json, terminal } = options;
  for (let next: RunQuestion = question;;) {
    const watched = await watchRun<"run" | "decide">(next, json ? undefined : terminal);
    if ("stopped" in watched) {
      if (watched.stopped) {
        terminal.err(
          `Stopped: nothing new starts, a call that acts comes to its end; what was done is kept. To go on:\n  agentcards runs resume ${watched.stopped}\n`,
        );
      }
      return INTERRUPTED;
    }
    const { answer } = watched;
    const decision = json ? undefined : await decideHere(answer, terminal);
    if (decision) {
      next = decision;
      continue;
    }
    if (json) terminal.out(jsonLine(answer));
    else printAnswer(answer, terminal);
    return exitCodeOf(answer);
  }
}

/** The decision of the human at this terminal about the call that a run waits for, when there is one to be made. */
async function decideHere({ workflow_id, pending }: RunBody, terminal: Terminal): Promise<RunQuestion | undefined> {
  if (pending?.reason !== "approval" || !canAskHere()) return undefined;
  const approvals = await ask({ method: "approvals" });
  const approval = approvals.find(({ id }) => id === workflow_id);
  if (!approval) return undefined;
  const word = await askAboutCall(approval, { terminal, question: "Allow exactly this call?" });
  return word === undefined ? undefined : decisionAbout(approval, word ? "approve" : "reject");
}

/** A decision about the very call that was shown, made in the run's own folder. */
export function decisionAbout(
  { id, cwd, hash }: ApprovalReport,
  action: "approve" | "reject",
  note?: string,
): Question<"decide"> {
  return { method: "decide", params: { workflow_id: id, action, hash, ...note !== undefined && { note } }, cwd };
}
