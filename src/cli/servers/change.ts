import {
  locateHome,
  parseConfig,
  removeServers,
  storedSecrets,
  switchServer,
  variablesNamedIn,
} from "../../config/mod.ts";
import { oneLine } from "../../model/mod.ts";
import { jsonLine } from "../json_out.ts";
import type { Terminal } from "../screen/terminal.ts";
import { type OwnFile, readOwnFile, requireEntry, writeOwnFile } from "./own_file.ts";
import { triedText, tryServer } from "./try.ts";

interface Options {
  readonly json?: boolean;
}

/** `agentcards remove NAME` */
export async function removeServer(name: string, { json }: Options, terminal: Terminal): Promise<number> {
  const file = await readOwnFile();
  const entry = await requireEntry(file, name);
  const changed = removeServers(file.text, [name], file.path);
  await writeOwnFile(file, changed);
  const left = await leftBehind(file, changed, name);
  if (json) terminal.out(jsonLine({ removed: name, was: entry, ...left }));
  else {
    const line = entry.url ?? [entry.command, ...entry.args ?? []].join(" ");
    terminal.out(`Removed "${name}" (${oneLine(line, 200)}) from ${file.path}.\n`);
    if (left.rules.length > 0) terminal.out(`Rules that still name it: ${oneLine(left.rules.join(", "), 300)}\n`);
    if (left.secrets.length > 0) {
      terminal.out(`Nothing uses ${left.secrets.join(", ")} in ${locateHome().secrets} any more.\n`);
    }
  }
  return 0;
}

/** What a server leaves behind in the files: rules that name it, and secrets that only it used. */
async function leftBehind({ servers, path }: OwnFile, changed: string, name: string) {
  const { policy, servers: others = {} } = parseConfig(changed, path);
  const named = (definitions: typeof servers) =>
    new Set(Object.entries(definitions).flatMap(([name, one]) => variablesNamedIn({ ...one, name, origin: "global" })));
  const used = named(others);
  const stored = await storedSecrets(locateHome());
  const rules = [...policy?.deny ?? [], ...policy?.approve ?? [], ...policy?.allow ?? []];
  return {
    rules: rules.filter((pattern) => pattern.replace(/^=/, "").startsWith(`${name}:`)),
    secrets: [...named({ [name]: servers[name]! })].filter((one) => Object.hasOwn(stored, one) && !used.has(one)),
  };
}

/** `agentcards enable NAME`, `agentcards disable NAME` */
export async function setEnabled(
  [name, isOn]: readonly [string, boolean],
  { json }: Options,
  terminal: Terminal,
): Promise<number> {
  const file = await readOwnFile();
  const { disabled = false } = await requireEntry(file, name);
  const isChanged = disabled === isOn;
  if (isChanged) await writeOwnFile(file, switchServer(file.text, name, isOn));
  const state = isOn ? "enabled" : "disabled";
  if (!json) terminal.out(isChanged ? `"${name}" is ${state}.\n` : `"${name}" is ${state} already.\n`);
  const tried = isOn ? await tryServer(name, terminal) : undefined;
  if (json) terminal.out(jsonLine({ server: name, enabled: isOn, changed: isChanged, ...tried && { tried } }));
  else if (tried) terminal.out(triedText(tried, terminal));
  return tried?.ok === false ? 1 : 0;
}
