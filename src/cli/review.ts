import type { ReviewReport } from "../control/mod.ts";
import { AgentCardsError, cut, oneLine } from "../model/mod.ts";
import { ask } from "./ask.ts";
import { jsonLine } from "./json_out.ts";
import { canAskHere } from "./prompts/approval.ts";
import { ago } from "./screen/relative_time.ts";
import { painter, type Terminal } from "./screen/terminal.ts";

type Item = ReviewReport["items"][number];

/** `agentcards review [SERVER]`: changed definitions, and one question for each server at a terminal. */
export async function review(
  server: string | undefined,
  { json }: { json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const { problem, servers } = await ask({ method: "review", params: server === undefined ? {} : { server } });
  if (json) {
    terminal.out(jsonLine({ problem, servers }));
    return 0;
  }
  if (problem !== null) terminal.out(`${problem}\n`);
  if (servers.length === 0) {
    terminal.out(`Nothing waits for a review${server === undefined ? "" : ` of "${oneLine(server, 64)}"`}.\n`);
    return 0;
  }
  for (const report of servers) {
    terminal.out(reviewText(report, terminal.color));
    if (canAskHere()) await askAbout(report, terminal);
  }
  if (!canAskHere()) terminal.out("Run this at a terminal to accept them: there is no option that answers for you.\n");
  return 0;
}

async function askAbout(report: ReviewReport, terminal: Terminal): Promise<void> {
  const { confirm, isCancel } = await import("@clack/prompts");
  const answer = await confirm({
    message: `Accept ${report.items.length === 1 ? "this" : `all ${report.items.length}`} of ${report.server}?`,
    initialValue: false,
  });
  if (isCancel(answer) || !answer) {
    terminal.out("Nothing was accepted; what is withheld stays so.\n\n");
    return;
  }
  const { server, folder, hash } = report;
  try {
    const { accepted } = await ask({
      method: "review_accept",
      params: { server, hash, ...folder !== null && { folder } },
    });
    terminal.out(`Accepted ${accepted}.\n\n`);
  } catch (error) {
    if (!(error instanceof AgentCardsError)) throw error;
    terminal.out(`${error.message}. ${error.hint ?? ""}\n\n`);
  }
}

const STATES: Readonly<Record<Item["state"], string>> = {
  changed: "withheld",
  new_withheld: "new, withheld",
  passed: "changed; agents see the accepted text",
  new: "new, in use",
};
const LONGEST_PART = 2_000;
/** Unchanged words are context: this many characters on each side. */
const CONTEXT = 80;

/** The definitions of a server that wait, as differences from the accepted ones. */
export function reviewText({ server, folder, identityChangedAt, items }: ReviewReport, color: boolean): string {
  const paint = painter(color);
  const place = folder === null ? "" : ` in ${oneLine(folder, 200)}`;
  const identity = identityChangedAt === null
    ? []
    : [`Its command, address or version changed ${ago(identityChangedAt)}.`];
  const shown = items.map((item) => {
    const title = item.kind === "instructions" ? "instructions" : `${item.kind} ${oneLine(item.name, 200)}`;
    const why = item.why === null ? "" : `\n  ${oneLine(item.why, 500)}`;
    const body = item.isTooLarge
      ? "\n  (the definition is too large to be shown)"
      : item.diff.map(({ field, parts }) => `\n  ${paint("dim", oneLine(field, 200))}: ${wordsText(parts, paint)}`)
        .join("");
    return `${paint("bold", title)} (${STATES[item.state]}, since ${ago(item.since)})${why}${body}`;
  });
  return [`${paint("bold", server)}${place}`, ...identity, ...shown].join("\n") + "\n\n";
}

function wordsText(parts: Item["diff"][number]["parts"], paint: ReturnType<typeof painter>): string {
  return parts.map(({ op, text }, i) => {
    if (op === "removed") return paint("red", `[-${cut(text, LONGEST_PART)}-]`);
    if (op === "added") return paint("green", `{+${cut(text, LONGEST_PART)}+}`);
    if (text.length <= 2 * CONTEXT) return text;
    const [head, tail] = [i === 0 ? "" : text.slice(0, CONTEXT), i === parts.length - 1 ? "" : text.slice(-CONTEXT)];
    return `${head} … ${tail}`;
  }).join("");
}
