import { AgentCardsError, HOOK_TOOL, isObject } from "../../model/mod.ts";
import { applyEdits, type Edit, modify } from "jsonc-parser";
import { posix } from "node:path";
import type { Home } from "../home.ts";
import { type Machine, OWN_NAME } from "./client.ts";
import type { HookInstall } from "./hook_keys.ts";
import { formatOf } from "./json_text.ts";
import { parseFile, splitBom } from "./parse.ts";
import { claudeSettings, userHome } from "./places.ts";

/** The clients whose hooks are known. */
export const HOOK_CLIENTS = ["claude-code", "cursor", "gemini"] as const;
export type HookClient = typeof HOOK_CLIENTS[number];

/** Seconds after which a client gives a hook up. */
const TIMEOUT_S = 2;
/** A file of a command holds at most so many bytes, and there are at most so many of them. */
const MOST_BYTES = 65_536;
const MOST_FILES = 20_000;

/** The fields that Claude Code fills in; one that it does not have is empty. */
const COMMON = { session: "${session_id}", folder: "${cwd}", agent: "${agent_id}" };
const TOOL = { tool: "${tool_name}", task: "${tool_use_id}", input: "${tool_input}" };
const CLAUDE_EVENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  UserPromptSubmit: { prompt: "${prompt}" },
  PreToolUse: TOOL,
  PostToolUse: { ...TOOL, output: "${tool_response}" },
  PostToolUseFailure: { ...TOOL, error: "${error}" },
  PermissionDenied: { ...TOOL, reason: "${reason}" },
  Stop: {},
};
/** The gateway sees the calls of its own tools by itself. */
const NOT_OURS = `^(?!mcp__${OWN_NAME}__).*`;
/** Before and after these the gateway is not connected. */
const CLAUDE_COMMANDS = ["SessionStart", "SessionEnd"];
const CURSOR_COMMANDS = ["beforeSubmitPrompt", "afterShellExecution", "afterMCPExecution", "afterFileEdit", "stop"];
const GEMINI_COMMANDS = ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"];

/** The file that holds a client's hooks; of a project the one that is not committed, where the client has such a file. */
export function hooksFile(client: HookClient, machine: Machine, isProject: boolean): string {
  const { join } = posix;
  if (client === "claude-code") {
    const files = claudeSettings(machine);
    return isProject ? files.find((path) => path.endsWith("settings.local.json"))! : files[0]!;
  }
  const folder = isProject ? machine.cwd : userHome(machine);
  return client === "cursor" ? join(folder, ".cursor", "hooks.json") : join(folder, ".gemini", "settings.json");
}

/** The entry of each event of a client. */
function entriesOf(client: HookClient, key: string, home: Home): Readonly<Record<string, unknown>> {
  const command = dropCommand(client, home);
  if (client === "cursor") {
    return Object.fromEntries(CURSOR_COMMANDS.map((event) => [event, { command, timeout: TIMEOUT_S }]));
  }
  if (client === "gemini") {
    const hook = { name: OWN_NAME, type: "command", command, timeout: TIMEOUT_S * 1_000 };
    return Object.fromEntries(GEMINI_COMMANDS.map((event) => [event, { hooks: [hook] }]));
  }
  const calls = Object.entries(CLAUDE_EVENTS).map(([event, fields]) => {
    const input = { key, client, event, ...COMMON, ...fields };
    const hook = { type: "mcp_tool", server: OWN_NAME, tool: HOOK_TOOL, input, timeout: TIMEOUT_S };
    return [event, { ..."tool" in fields && { matcher: NOT_OURS }, hooks: [hook] }];
  });
  const commands = CLAUDE_COMMANDS.map((
    event,
  ) => [event, { hooks: [{ type: "command", command, timeout: TIMEOUT_S }] }]);
  return Object.fromEntries([...calls, ...commands]);
}

/** A command of the shell that puts its input into a file and prints nothing; a home that is gone is no failure. */
function dropCommand(client: HookClient, { hooks }: Home): string {
  const folder = `'${hooks.replaceAll("'", `'\\''`)}'`;
  return `d=${folder}; umask 077; [ -d "$d" ] || exit 0; set -- "$d"/*; [ $# -lt ${MOST_FILES} ] || exit 0; ` +
    `f="$d/${client}-$$-$(date +%s)"; head -c ${MOST_BYTES} > "$f.tmp" && mv "$f.tmp" "$f.json"; exit 0`;
}

/** True if an entry of an event is ours. */
function isOwnEntry(entry: unknown, { hooks: folder }: Pick<Home, "hooks">): boolean {
  const isOwnHook = (hook: unknown) =>
    isObject(hook) && (hook.tool === HOOK_TOOL || typeof hook.command === "string" && hook.command.includes(folder));
  return isOwnHook(entry) || isObject(entry) && Array.isArray(entry.hooks) && entry.hooks.some(isOwnHook);
}

function hooksIn(text: string): Record<string, unknown> {
  const data = parseFile(text, "json");
  const hooks = isObject(data) ? data.hooks : undefined;
  if (hooks !== undefined && !isObject(hooks)) throw unusual();
  return hooks ?? {};
}

/** The events of a file whose hooks are ours. */
export function hookEvents(text: string, home: Pick<Home, "hooks">): string[] {
  return Object.entries(hooksIn(text)).flatMap(([event, list]) =>
    Array.isArray(list) && list.some((entry) => isOwnEntry(entry, home)) ? [event] : []
  );
}

export interface Added {
  readonly text: string;
  readonly edits: HookInstall["edits"];
}

/** The text of a client's file with our hooks in it; everything else stays as it was written. */
export function addHooks(whole: string, client: HookClient, { key, home }: { key: string; home: Home }): Added {
  const { bom, body: given } = splitBom(whole);
  const isEmpty = given.trim() === "";
  let text = isEmpty ? client === "cursor" ? '{\n  "version": 1\n}\n' : "{}\n" : given;
  const edits: { put: string; was: string }[] = [];
  const entries = entriesOf(client, key, home);
  const known = hooksIn(text);
  const apply = (changes: Edit[]) => {
    for (const { offset, length, content } of changes) {
      edits.unshift({ put: content, was: text.slice(offset, offset + length) });
    }
    text = applyEdits(text, changes);
  };
  const formattingOptions = formatOf(text);
  if (Object.keys(known).length === 0) {
    const all = Object.fromEntries(Object.entries(entries).map(([event, entry]) => [event, [entry]]));
    apply(modify(text, ["hooks"], all, { formattingOptions }));
    return { text: bom + text, edits };
  }
  for (const [event, entry] of Object.entries(entries)) {
    const list = known[event];
    if (list !== undefined && !Array.isArray(list)) throw unusual();
    const options = list ? { formattingOptions, isArrayInsertion: true } : { formattingOptions };
    apply(modify(text, list ? ["hooks", event, list.length] : ["hooks", event], list ? entry : [entry], options));
  }
  return { text: bom + text, edits };
}

/** The text without our hooks: piece by piece as they were put in, where the pieces are still there, else by meaning. */
export function removeHooks(whole: string, home: Pick<Home, "hooks">, edits: HookInstall["edits"] = []): string {
  const { bom, body: given } = splitBom(whole);
  const exact = edits.reduce<string | undefined>((text, { put, was }) => {
    const at = text?.indexOf(put) ?? -1;
    const isOnce = at >= 0 && text!.indexOf(put, at + 1) < 0;
    return isOnce ? text!.slice(0, at) + was + text!.slice(at + put.length) : undefined;
  }, given);
  if (exact !== undefined && edits.length > 0 && isFree(exact, home)) return bom + exact;
  const formattingOptions = formatOf(given);
  let text = given;
  for (const [event, list] of Object.entries(hooksIn(given))) {
    if (!Array.isArray(list)) continue;
    const own = list.flatMap((entry, index) => isOwnEntry(entry, home) ? [index] : []);
    const paths = own.length === list.length ? [["hooks", event]] : own.reverse().map((at) => ["hooks", event, at]);
    if (own.length === 0) continue;
    for (const path of paths) text = applyEdits(text, modify(text, path, undefined, { formattingOptions }));
  }
  return Object.keys(hooksIn(text)).length > 0 || Object.keys(hooksIn(given)).length === 0
    ? bom + text
    : bom + applyEdits(text, modify(text, ["hooks"], undefined, { formattingOptions }));
}

function isFree(text: string, home: Pick<Home, "hooks">): boolean {
  try {
    return hookEvents(text, home).length === 0;
  } catch {
    return false;
  }
}

function unusual(): AgentCardsError {
  return new AgentCardsError("CONFIG_INVALID", "Cannot edit the file: its hooks are written in an unusual way", {
    hint: "hooks must be a map from events to lists. The file is as it was.",
  });
}
