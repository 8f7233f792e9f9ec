import { AgentCardsError, messageOf, oneLine } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import { resolve } from "node:path";
import { ask } from "../ask.ts";
import { timeOf } from "../audit.ts";
import { jsonLine } from "../json_out.ts";
import { ago } from "../screen/relative_time.ts";
import { table } from "../screen/table.ts";
import { painter, plural, type Terminal } from "../screen/terminal.ts";

interface Options {
  readonly json?: boolean;
  readonly since?: string;
}

const LARGEST_FILE = 1024 * 1024;

/** `agentcards policy test FILE`: 1 where a verdict is not the expected one. */
export async function testPolicy(path: string, { json }: Options, terminal: Terminal): Promise<number> {
  const { results } = await ask({ method: "policy_test", params: { text: await textOf(path), path } });
  const failed = results.filter(({ ok }) => !ok);
  if (json) terminal.out(jsonLine({ ok: failed.length === 0, results }));
  else {
    const paint = painter(terminal.color);
    for (const { line, call, expect, got, rule, why } of failed) {
      const by = rule === null ? "" : ` by "${oneLine(rule, 100)}"`;
      const reason = why === null ? "" : ` (${oneLine(why, 300)})`;
      terminal.out(
        `${paint("red", "✗")} line ${line}: ${oneLine(call, 100)}: expected ${expect}, got ${got}${by}${reason}\n`,
      );
    }
    const right = results.length - failed.length;
    const mark = failed.length === 0 ? paint("green", "✓") : paint("red", "✗");
    terminal.out(`${mark} ${right} of ${results.length} ${plural(results.length, "call")} as expected\n`);
  }
  return failed.length === 0 ? 0 : 1;
}

/** `agentcards policy replay [FILE]` */
export async function replayPolicy(path: string | undefined, options: Options, terminal: Terminal): Promise<number> {
  const given = path === undefined ? {} : { text: await textOf(path), path };
  const since = options.since === undefined ? {} : { since: timeOf(options.since) };
  const replay = await ask({ method: "policy_replay", params: { ...given, ...since } });
  if (options.json) {
    terminal.out(jsonLine(replay));
    return 0;
  }
  const { calls, denied, asked, unjudged, observed, rules, has_result_rules } = replay;
  if (calls === 0) {
    terminal.out("No calls were kept in that time. history.days says for how long their arguments are kept.\n");
    return 0;
  }
  terminal.out(`Of ${calls} calls ${denied} would have been stopped, and ${asked} asked about.\n`);
  if (rules.length > 0) {
    const rows = rules.map(({ rule, then, calls, example }) => [
      oneLine(rule, 40),
      then,
      String(calls),
      `${oneLine(example.tool, 60)} ${oneLine(JSON.stringify(example.args), 120)}, ${ago(example.at)}`,
    ]);
    terminal.out(
      `\n${table([["rule", "then", "calls", "the newest"], ...rows], painter(terminal.color).bind(null, "bold"))}`,
    );
  }
  const notes = [
    observed > 0 ? `${observed} were noted by rules that only observe.` : "",
    unjudged > 0
      ? `${unjudged} could not be judged: what their rules read (long arguments, origins of values, the word of a program) is not kept.`
      : "",
    has_result_rules ? "Results are not kept: rules with on: result were left out." : "",
    rules.some(({ rule }) => rule === "first use")
      ? "A tool counts as allowed once it was asked about as a first use."
      : "",
  ].filter(Boolean);
  if (notes.length > 0) terminal.out(`\n${notes.join("\n")}\n`);
  return 0;
}

/** `agentcards policy explain TOOL [ARGUMENTS]` */
export async function explainTool(
  [tool, given]: readonly [string, string | undefined],
  { json }: Options,
  terminal: Terminal,
): Promise<number> {
  const args = given === undefined ? {} : { arguments: argumentsIn(given) };
  const report = await ask({ method: "policy_explain", params: { tool, ...args } });
  if (json) {
    terminal.out(jsonLine(report));
    return 0;
  }
  const { effect, annotations, withheld, granted, rules, verdict, with_arguments } = report;
  const hints = Object.entries(annotations).filter(([, value]) => typeof value === "boolean")
    .map(([name, value]) => `${oneLine(name, 40)} ${value}`);
  const bold = painter(terminal.color).bind(null, "bold");
  terminal.out(`${bold(oneLine(report.tool, 200))}: ${effect}${hints.length > 0 ? ` (${hints.join(", ")})` : ""}\n`);
  if (withheld !== null) terminal.out(`It is withheld: ${oneLine(withheld, 300)}\n`);
  if (granted) terminal.out("You allowed it always.\n");
  for (const { name, then, when, limit, at, never } of rules) {
    const condition = [limit, when].filter(Boolean).join("; ") || "always";
    const note = never === null ? "" : `: ${oneLine(never, 200)}`;
    terminal.out(
      `  rule "${oneLine(name, 60)}": ${then} when ${oneLine(condition, 200)} (${oneLine(at ?? "", 120)})${note}\n`,
    );
  }
  if (rules.length === 0) terminal.out("  no rule of yours is about it\n");
  const which = with_arguments ? "With these arguments a call" : "A call without arguments";
  const ends = { pass: "passes", deny: "is forbidden", ask: "is asked about" }[verdict.kind] ?? verdict.kind;
  terminal.out(`${which} ${ends}${verdict.why === null ? "" : `: ${oneLine(verdict.why, 500)}`}.\n`);
  return 0;
}

/** `agentcards policy suggest` */
export async function suggestPolicy(options: Options, terminal: Terminal): Promise<number> {
  const since = options.since === undefined ? {} : { since: timeOf(options.since) };
  const { rules } = await ask({ method: "policy_suggest", params: since });
  if (options.json) terminal.out(jsonLine(rules));
  else if (rules.length === 0) {
    terminal.out("Nothing to propose: no tool was allowed three times or refused twice, and never otherwise.\n");
  } else {
    terminal.out("These lines, below policy.rules in config.yaml, would spare you questions:\n\n");
    for (const { line, why } of rules) terminal.out(`    ${line} # ${oneLine(why, 100)}\n`);
  }
  return 0;
}

function argumentsIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Told below.
  }
  throw new AgentCardsError("USAGE", "The arguments are no JSON object", {
    hint: `Write them as '{"name": "value"}'.`,
  });
}

async function textOf(path: string): Promise<string> {
  try {
    if ((await fs.stat(path)).size > LARGEST_FILE) throw new Error("it is larger than 1 MB");
    return await fs.readTextFile(path);
  } catch (cause) {
    throw new AgentCardsError("INPUT_INVALID", `Cannot read ${resolve(path)}: ${messageOf(cause)}`, { cause });
  }
}
