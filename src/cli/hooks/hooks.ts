import {
  addHooks,
  CLIENT_NAMES,
  ensureHome,
  findServers,
  hashOf,
  HOOK_CLIENTS,
  type HookClient,
  hookEvents,
  type HookInstall,
  hooksFile,
  locateHome,
  type Machine,
  newHookKey,
  readHookKeys,
  removeHooks as without,
  replaceFile,
  writeHookKeys,
} from "../../config/mod.ts";
import { AgentCardsError, describe } from "../../model/mod.ts";
import { fs, system } from "../../platform/start.ts";
import { dirname } from "node:path";
import { ask } from "../ask.ts";
import { jsonLine } from "../json_out.ts";
import { ago } from "../screen/relative_time.ts";
import type { Terminal } from "../screen/terminal.ts";

export interface HookOptions {
  readonly client: HookClient;
  readonly project?: boolean | undefined;
  readonly json?: boolean | undefined;
}

const machineOf = (): Machine => ({ os: system.os, env: system.env(), cwd: system.cwd() });
const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

/** `agentcards hook install` */
export async function installHooks(
  { client, project = false, json }: HookOptions,
  terminal: Terminal,
): Promise<number> {
  if (system.os === "windows" && client !== "claude-code") {
    throw new AgentCardsError("USAGE", `The hooks of ${CLIENT_NAMES[client]} need a POSIX shell`);
  }
  const home = locateHome();
  const machine = machineOf();
  await ensureHome(home);
  await fs.mkdir(home.hooks, { recursive: true, mode: 0o700 });
  const path = hooksFile(client, machine, project);
  const keys = await readHookKeys(home.hookKeys) ?? { key: newHookKey(), installs: [] };
  const bytes = await bytesOf(path);
  const text = bytes ? decode(bytes) : "";
  const old = keys.installs.find((one) => one.path === path);
  // What an earlier version had put in is replaced as a whole.
  const clean = await originalOf(text, old, home);
  const { text: after, edits } = addHooks(clean, client, { key: keys.key, home });
  const install: HookInstall = {
    client,
    path,
    before: bytes === undefined || old?.before === null && clean === "" ? null : encode(clean).toBase64(),
    mode: bytes ? (await fs.stat(path)).mode! & 0o7777 : null,
    after: await hashOf(encode(after)),
    edits,
  };
  // Written first: a file with hooks that nobody knows of could not be put back.
  await writeHookKeys(home.hookKeys, { ...keys, installs: [...keys.installs.filter((one) => one !== old), install] });
  await fs.mkdir(dirname(path), { recursive: true });
  await replaceFile(path, encode(after), install.mode ?? 0o600);
  const hasEntry = client !== "claude-code" || await isConnected(machine);
  const events = hookEvents(after, home);
  if (json) terminal.out(jsonLine({ client, path, events, connected: hasEntry }));
  else {
    terminal.out(`${CLIENT_NAMES[client]} reports ${events.join(", ")} from its next start on: ${path}\n`);
    if (!hasEntry) terminal.out("Most of them go to AgentCards' own entry, which is missing: run `agentcards init`.\n");
    terminal.out(`Take them out again with: agentcards hook remove${flags({ client, project })}\n`);
  }
  return 0;
}

/** `agentcards hook remove` */
export async function removeHooks({ client, project = false, json }: HookOptions, terminal: Terminal): Promise<number> {
  const home = locateHome();
  const path = hooksFile(client, machineOf(), project);
  const keys = await readHookKeys(home.hookKeys);
  const install = keys?.installs.find((one) => one.path === path);
  const bytes = await bytesOf(path);
  const what = bytes === undefined ? "gone" : await takeOut({ path, bytes, install, home });
  if (keys && install) {
    const installs = keys.installs.filter((one) => one !== install);
    // The key ends with the last file that holds it.
    if (installs.length > 0) await writeHookKeys(home.hookKeys, { ...keys, installs });
    else for (const file of [home.hookKeys, `${home.hookKeys}.last`]) await fs.remove(file).catch(() => {});
  }
  if (json) terminal.out(jsonLine({ client, path, what }));
  else terminal.out(`${path}: ${WORDS[what]}\n`);
  return 0;
}

const WORDS = {
  restored: "restored byte for byte",
  removed: "removed, since our hooks were all that was in it",
  edited: "was changed since: our hooks taken out, the rest left as it is",
  nothing: "has no hooks of ours",
  gone: "is not there",
} as const;

interface TakeOut {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly install: HookInstall | undefined;
  readonly home: { readonly hooks: string };
}

async function takeOut({ path, bytes, install, home }: TakeOut): Promise<keyof typeof WORDS> {
  if (install && await hashOf(bytes) === install.after) {
    if (install.before === null) {
      await fs.remove(path);
      return "removed";
    }
    await replaceFile(path, Uint8Array.fromBase64(install.before), install.mode ?? undefined);
    return "restored";
  }
  const text = decode(bytes);
  if (hookEvents(text, home).length === 0) return "nothing";
  await replaceFile(path, encode(without(text, home, install?.edits)));
  return "edited";
}

/** A file's text before our hooks were put in. */
async function originalOf(text: string, old: HookInstall | undefined, home: { readonly hooks: string }) {
  if (old && await hashOf(encode(text)) === old.after) {
    return old.before === null ? "" : decode(Uint8Array.fromBase64(old.before));
  }
  return text.trim() !== "" && hookEvents(text, home).length > 0 ? without(text, home, old?.edits) : text;
}

/** `agentcards hook status` */
export async function hookStatus({ json }: { json?: boolean | undefined }, terminal: Terminal): Promise<number> {
  const home = locateHome();
  const machine = machineOf();
  const keys = await readHookKeys(home.hookKeys);
  const known = new Map(keys?.installs.map(({ path, client }) => [path, client]));
  for (const client of HOOK_CLIENTS) {
    for (const isProject of [false, true]) known.set(hooksFile(client, machine, isProject), client);
  }
  const files = await Promise.all([...known].map(async ([path, client]) => {
    const text = await bytesOf(path).then((bytes) => bytes ? decode(bytes) : "").catch(() => "");
    const events = await Promise.resolve(text).then((given) => given.trim() === "" ? [] : hookEvents(given, home))
      .catch(() => []);
    // A key of another home, or of before `hook remove`, is refused.
    const isKnown = client !== "claude-code" || keys !== undefined && text.includes(keys.key);
    return { client, path, events, works: events.length > 0 && isKnown };
  }));
  const installed = files.filter(({ events }) => events.length > 0);
  const report = installed.length === 0 ? undefined : await ask({ method: "hooks", params: { limit: 1 } })
    .catch((error) => ({ failure: describe(error) }));
  if (json) {
    terminal.out(jsonLine({ files: installed, ...report }));
    return 0;
  }
  if (installed.length === 0) terminal.out("No hooks are installed. `agentcards hook install` adds them.\n");
  for (const { client, path, events, works } of installed) {
    const state = works ? events.join(", ") : "written for another home: run `agentcards hook install` again";
    terminal.out(`${client}: ${path}: ${state}\n`);
  }
  if (report && "failure" in report) terminal.err(`${report.failure}\n`);
  else if (report) {
    const { total, last, events } = report.figures;
    const each = Object.entries(events).map(([event, count]) => `${event} ${count}`).join(", ");
    terminal.out(
      `${total} events in the last day${each && `: ${each}`}; the last ${last === null ? "never" : ago(last)}\n`,
    );
    const { given, used, hint_at } = report.hints;
    terminal.out(
      `Lines of context for prompts: ${given} of late, ${used} used; from a confidence of ${hint_at.toFixed(2)} on\n`,
    );
  }
  return 0;
}

async function isConnected(machine: Machine): Promise<boolean> {
  const { sources } = await findServers(machine, { client: "claude-code" });
  return sources.some(({ hasOwn }) => hasOwn);
}

async function bytesOf(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  return await fs.readFile(path).catch((error) => {
    if (fs.isNotFound(error) || fs.isNotADirectory(error)) return undefined;
    throw error;
  });
}

function flags({ client, project }: Pick<HookOptions, "client" | "project">): string {
  return (client === "claude-code" ? "" : ` --client ${client}`) + (project ? " --project" : "");
}
