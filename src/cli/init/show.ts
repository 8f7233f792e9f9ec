import {
  type Additions,
  CLIENT_NAMES,
  type ClientId,
  type Move,
  type Origin,
  originText,
  OWN_NAME,
  ownEntry,
  type ServerEntry,
} from "../../config/mod.ts";
import { oneLine } from "../../model/mod.ts";
import type { Outcome } from "./apply.ts";
import type { InitIo } from "./io.ts";
import { ownCommand, type Plan } from "./plan.ts";
import { duration, plural } from "../screen/terminal.ts";
import { undoCommand } from "./undo_command.ts";
import { table } from "../screen/table.ts";

type Paint = (text: string) => string;

/** Colours, or nothing at all. */
export function paints(color: boolean): Readonly<Record<"bold" | "dim" | "good" | "bad" | "warn", Paint>> {
  const code = (on: number): Paint => color ? (text) => `\x1b[${on}m${text}\x1b[0m` : (text) => text;
  return { bold: code(1), dim: code(2), good: code(32), bad: code(31), warn: code(33) };
}

/** What was found and exactly what would change. */
export function showPlan(plan: Plan, io: InitIo): string {
  const { bold } = paints(io.color);
  const moved = plan.moves.flatMap((move) =>
    move.origins.map((origin) => [
      oneLine(origin.name, 40),
      originText(origin),
      oneLine(commandLine(move.server), 60),
      whatHappens(move, origin),
    ])
  );
  const stay = plan.stays.map((
    item,
  ) => [oneLine(item.name, 40), originText(item), "", `stays: ${oneLine(item.reason, 120)}`]);
  const rows = [...moved, ...stay];
  return [
    rows.length > 0
      ? table([["Server", "Found in", "Runs", "What happens"], ...rows], { paint: bold, isWrapped: true })
      : "",
    ...problemLines(plan, io),
    ...changeLines(plan, io),
    ...noteLines(plan, io),
  ].filter(Boolean).join("\n");
}

function whatHappens({ name, isKnown, server }: Move, { leaves }: Origin): string {
  if (isKnown) return `already here as ${name}`;
  return `${leaves ? "moves" : "is copied"} to ${name}${server.disabled ? ", switched off" : ""}`;
}

/** How a server is started or reached. */
export function commandLine({ command, args, url }: ServerEntry): string {
  return url ?? [command, ...args ?? []].join(" ");
}

function problemLines({ problems, permissions }: Plan, io: InitIo): string[] {
  const { warn } = paints(io.color);
  const lines = [...problems, ...permissions.problems].map(({ path, reason }) =>
    warn(`${path} is left alone: ${oneLine(reason, 200)}`) + "\n"
  );
  return lines.length > 0 ? [lines.join("")] : [];
}

function changeLines(plan: Plan, io: InitIo): string[] {
  const { bold } = paints(io.color);
  const lines: string[] = [];
  const secrets = Object.keys(plan.secrets);
  if (secrets.length > 0) lines.push(`${io.home.secrets}: gets ${secrets.join(", ")} (readable by you only)`);
  for (const target of Object.values(plan.targets)) {
    if (target.after === target.before) continue;
    const { servers, deny, approve, allow } = target.additions;
    const names = Object.keys(servers);
    lines.push(
      `${target.path}: gets ${names.length} ${plural(names.length, "server")}${
        names.length > 0 ? `: ${names.join(", ")}` : ""
      }`,
    );
    lines.push(...clientLines(servers), ...policyLines({ deny, approve, allow }));
  }
  for (const { client, path, edit } of plan.changes) {
    if (edit.remove.length === 0) {
      lines.push(
        `${path} (${CLIENT_NAMES[client]}): allows ${edit.allow?.join(", ")}, so that it does not ask as well`,
      );
      continue;
    }
    const gone = edit.remove.map(({ name }) => oneLine(name, 40)).join(", ");
    lines.push(`${path} (${CLIENT_NAMES[client]}): loses ${gone}; gets ${OWN_NAME}`);
  }
  if (lines.length === 0) return [];
  return [`${bold("What changes")}\n${lines.map((line) => `  ${line}\n`).join("")}`];
}

/** Which clients see which of the servers. */
function clientLines(servers: Additions["servers"]): string[] {
  const groups = Map.groupBy(Object.entries(servers), ([, { clients }]) => clients?.map(nameOf).join(", "));
  return [...groups].map(([clients, entries]) =>
    `  for ${clients === undefined ? "every client" : `${clients} only`}: ${entries.map(([name]) => name).join(", ")}`
  );
}

const nameOf = (client: string) => Object.hasOwn(CLIENT_NAMES, client) ? CLIENT_NAMES[client as ClientId] : client;

function policyLines({ deny, approve, allow = [] }: Pick<Additions, "deny" | "approve" | "allow">): string[] {
  return [
    ...deny.length > 0 ? [`  policy.deny: ${oneLine(deny.join(", "))}`] : [],
    ...approve.length > 0 ? [`  policy.approve: ${oneLine(approve.join(", "))}`] : [],
    ...allow.length > 0 ? [`  policy.rules, allowed as before: ${oneLine(allow.join(", "))}`] : [],
  ];
}

const PLACES = { allow: "an allow rule for", deny: "policy.deny", ask: "policy.approve" } as const;

function noteLines(plan: Plan, io: InitIo): string[] {
  const { bold } = paints(io.color);
  const lines = plan.moves.flatMap(({ name, notes, needs }) => [
    ...notes.map((note) => `${name}: ${oneLine(note, 300)}`),
    ...(needs.length > 0 ? [`${name}: needs a value for ${needs.join(", ")} (environment or secrets.env)`] : []),
  ]);
  for (const { list, rule, pattern, path } of plan.permissions.rules) {
    const isLoosening = list === "allow" && !plan.targets.global?.additions.allow?.includes(pattern ?? "");
    const becomes = pattern && !isLoosening
      ? `is carried over as ${PLACES[list]} ${oneLine(pattern, 100)}`
      : "has no counterpart here and has no effect any more";
    lines.push(`${path}: ${list} rule ${oneLine(rule, 100)} ${becomes}`);
  }
  for (const { event, matcher, path } of plan.permissions.hooks) {
    lines.push(`${path}: the ${oneLine(event, 40)} hook on ${oneLine(matcher, 100)} will not see these tools any more`);
  }
  if (plan.targets.project && plan.targets.project.after !== plan.targets.project.before) {
    lines.push(`${plan.targets.project.path} is not used until you run \`agentcards trust\` there`);
  }
  if (io.entryNote) lines.push(io.entryNote);
  const elsewhere = plan.sources.reduce((sum, source) => sum + source.elsewhere, 0);
  if (elsewhere > 0) {
    lines.push(
      `Claude Code has local servers in ${elsewhere} other ${plural(elsewhere, "folder")}; run init there to move them`,
    );
  }
  if (lines.length === 0) return [];
  return [`${bold("Good to know")}\n${lines.map((line) => `  ${line}\n`).join("")}`];
}

/** What there is to say when there is nothing to move. */
export function showNothing(plan: Plan, io: InitIo): string {
  const own = plan.sources.filter(({ hasOwn }) => hasOwn);
  const shown = showPlan(plan, io);
  const gap = shown === "" ? "" : "\n";
  if (own.length > 0) {
    const where = [...new Set(own.map((source) => originText({ source })))].join(", ");
    return `${shown}${gap}Nothing to move: AgentCards is set up in ${where} and no other server is left to take.\n`;
  }
  if (plan.stays.length > 0 || plan.problems.length > 0) return `${shown}${gap}Nothing to move.\n`;
  const looked = plan.looked.map((path) => `  ${path}\n`).join("");
  return `No MCP servers found. Looked in:\n${looked}\nPut yours into ${io.home.config}:\n\n${SAMPLE}`;
}

const SAMPLE = `servers:
  files:
    command: npx
    args: ["-y", "@modelcontextprotocol/server-filesystem", "/path/to/a/folder"]
  docs:
    url: https://example.com/mcp
    headers:
      Authorization: Bearer \${DOCS_TOKEN}
`;

/** How it went. */
export function showOutcome(plan: Plan, outcome: Outcome, io: InitIo): string {
  const { bold, good, bad, warn } = paints(io.color);
  const rows = plan.moves.map(({ name, server, target }) => {
    const probe = outcome.probes.find((result) => result.server === name);
    if (target === "project") return [name, "–", "–", warn("waits for `agentcards trust`")];
    const why = `does not start: ${oneLine(probe?.error ?? "no reason given", 160)}`;
    if (outcome.kept.includes(name)) return [name, "–", "–", warn(`stays in the client: it ${why}`)];
    if (!probe) return [name, "–", "–", server.disabled ? "switched off" : "not started"];
    if (probe.needs_sign_in) return [name, "–", "–", warn(`needs a sign-in: agentcards login ${name}`)];
    const state = probe.ok ? good("ready") : bad(why);
    return [name, String(probe.tools), duration(probe.ms), state];
  });
  const before = outcome.probes.reduce((sum, { tokens }) => sum + tokens, 0);
  const number = (value: number) => value.toLocaleString("en-US");
  const lines = [
    table([["Server", "Tools", "Start", "State"], ...rows], { paint: bold, isWrapped: true }),
    `\nTokens an agent reads before it starts: ${number(before)} until now, ${number(io.ownTokens)} with AgentCards.\n`,
  ];
  if (outcome.kept.length > 0) {
    lines.push("What does not start stays where it was. Mend it and run init again, or move it as it is: --failing\n");
    const policy = Object.values(outcome.targets).flatMap(({ additions }) => policyLines(additions));
    if (policy.length > 0) lines.push(`Without what stays in its client:\n${policy.join("\n")}\n`);
  }
  const [backup] = outcome.backups;
  if (backup) lines.push(`Backup: ${io.home.backups}/${backup.manifest.run}-*\n`);
  lines.push(`Undo:   ${undoCommand(io)}\n`);
  for (const { path, reason } of outcome.failures) {
    lines.push(bad(`${path} was not changed: ${oneLine(reason, 300)}`) + "\n");
  }
  if (io.entryNote) lines.push(warn(io.entryNote) + "\n");
  if (outcome.changed.length > 0) lines.push("Restart the clients that are open.\n");
  const isInClaude = plan.sources.some(({ client, hasOwn }) => client === "claude-code" && hasOwn) ||
    plan.changes.some(({ client, path }) => client === "claude-code" && outcome.changed.includes(path));
  if (!isInClaude) lines.push(`For Claude Code: ${claudeCommand(io)}\n`);
  return lines.join("");
}

function claudeCommand(io: InitIo): string {
  return `claude mcp add-json -s user ${OWN_NAME} '${
    JSON.stringify(ownEntry("claude-code", ownCommand(io))).replaceAll("'", "'\\''")
  }'`;
}
