import type { CodeCall } from "../dag/mod.ts";
import { cut, oneLine } from "../model/mod.ts";

const SHOWN_CALLS = 50;
const SHOWN_ARGUMENTS = 300;

/** The prompt for a session that was interrupted: what its calls came to, by the journal. */
export function resumedPrompt(prompt: string, calls: readonly CodeCall[]): string {
  const acting = calls.filter(({ effect }) => effect !== "read");
  const done = acting.filter(({ answer }) => answer?.kind === "output");
  const open = acting.filter(({ answer }) => answer === undefined);
  return [
    "You were interrupted while you worked on the task below, and go on with it now.",
    ...done.length > 0 ? ["These calls that act have been made. Do not make them again:", ...listed(done)] : [],
    ...open.length > 0 ? ["Of these calls no answer came; to repeat them is safe:", ...listed(open)] : [],
    "Any other acting call that you began has not happened. Check the state before you act where you are not sure.",
    `The task:\n\n${prompt}`,
  ].join("\n");
}

function listed(calls: readonly CodeCall[]): string[] {
  const lines = calls.slice(-SHOWN_CALLS).map(({ tool, arguments: given = {}, answer }) => {
    const args = cut(JSON.stringify(given), SHOWN_ARGUMENTS);
    const output = answer?.kind === "output" && answer.output.kind === "value" ? answer.output.value : undefined;
    const gave = output === undefined ? "" : ` gave ${cut(oneLine(JSON.stringify(output), 1_000), SHOWN_ARGUMENTS)}`;
    return `- ${tool} ${args}${gave}`;
  });
  return calls.length > lines.length ? [...lines, `- and ${calls.length - lines.length} before them`] : lines;
}
