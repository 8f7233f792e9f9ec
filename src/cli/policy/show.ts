import { AgentCardsError, describe, oneLine } from "../../model/mod.ts";
import { ask } from "../ask.ts";
import { jsonLine } from "../json_out.ts";
import { ago } from "../screen/relative_time.ts";
import { table } from "../screen/table.ts";
import { painter, plural, type Terminal } from "../screen/terminal.ts";

interface Json {
  readonly json?: boolean;
}

/** `agentcards policy show` */
export async function showPolicy({ json }: Json, terminal: Terminal): Promise<number> {
  const report = await ask({ method: "policy" });
  if (json) {
    terminal.out(jsonLine(report));
    return 0;
  }
  const { preset, preset_rules, rules, deny, approve, allow, trusted, unattended, mode, problems } = report;
  const bold = painter(terminal.color).bind(null, "bold");
  terminal.out(`${bold("preset")} ${preset}; where nobody can be asked: ${unattended}\n`);
  for (const { name, then, says, off } of preset_rules) {
    terminal.out(`  ${then.padEnd(8)} ${name}: ${says}${off ? " (off by policy.without)" : ""}\n`);
  }
  if (preset_rules.length === 0) terminal.out("  it asks about nothing by itself\n");
  const observed = mode === "observe" ? ", which are only observed" : "";
  terminal.out(`\n${bold("rules")}${rules.length === 0 ? " none" : ` ${rules.length}${observed}`}\n`);
  if (rules.length > 0) terminal.out(table([["name", "match", "then", "when", "place"], ...rules.map(cellsOf)], bold));
  const lists = [["deny", deny], ["approve", approve], ["allow", allow], ["trusted", trusted]] as const;
  for (const [name, list] of lists) {
    if (list.length > 0) terminal.out(`${bold(`policy.${name}`)} ${oneLine(list.join(", "), 1_000)}\n`);
  }
  for (const problem of problems) terminal.out(`${painter(terminal.color)("yellow", "!")} ${oneLine(problem, 500)}\n`);
  return 0;
}

type Rule = Awaited<ReturnType<typeof ask<"policy">>>["rules"][number];

function cellsOf({ name, match, then, when, limit, on, mode, at }: Rule): string[] {
  const condition = [limit, when].filter(Boolean).join("; ") || "always";
  return [
    oneLine(name, 40),
    oneLine(match.join(" "), 60),
    `${then}${on === "result" ? " (result)" : ""}${mode === "observe" ? " (observed)" : ""}`,
    oneLine(condition, 120),
    oneLine(at?.replace(/^.*\//, "") ?? "", 40),
  ];
}

/** `agentcards policy check`: 1 where a rule cannot be read or can never match. */
export async function checkPolicy({ json }: Json, terminal: Terminal): Promise<number> {
  const paint = painter(terminal.color);
  try {
    const { rules, problems } = await ask({ method: "policy" });
    const isRight = problems.length === 0;
    if (json) terminal.out(jsonLine({ ok: isRight, rules: rules.length, problems }));
    else if (isRight) {
      terminal.out(`${paint("green", "✓")} ${rules.length} ${plural(rules.length, "rule")}, all usable\n`);
    } else for (const problem of problems) terminal.out(`${paint("red", "✗")} ${oneLine(problem, 1_000)}\n`);
    return isRight ? 0 : 1;
  } catch (error) {
    if (!(error instanceof AgentCardsError) || error.code !== "CONFIG_INVALID") throw error;
    if (json) terminal.out(jsonLine({ ok: false, rules: null, problems: [describe(error)] }));
    else terminal.out(`${paint("red", "✗")} ${oneLine(describe(error), 2_000)}\n`);
    return 1;
  }
}

/** `agentcards policy grants` */
export async function listGrants({ json }: Json, terminal: Terminal): Promise<number> {
  const { grants } = await ask({ method: "policy_grants" });
  if (json) terminal.out(jsonLine(grants));
  else if (grants.length === 0) terminal.out("No tool was allowed always.\n");
  else {
    const rows = grants.map((
      { server, tool, at, client },
    ) => [oneLine(`${server}:${tool}`, 100), ago(at), client ?? ""]);
    terminal.out(table([["tool", "allowed", "by a client"], ...rows], painter(terminal.color).bind(null, "bold")));
    terminal.out(
      "\nEach holds for as long as its tool stays as it is. `agentcards policy grants revoke TOOL` takes it back.\n",
    );
  }
  return 0;
}

/** `agentcards policy grants revoke PATTERN` */
export async function revokeGrants(pattern: string, terminal: Terminal): Promise<number> {
  const { revoked } = await ask({ method: "policy_revoke", params: { pattern } });
  for (const { server, tool } of revoked) terminal.out(`${oneLine(`${server}:${tool}`, 100)} is asked about again.\n`);
  return 0;
}
