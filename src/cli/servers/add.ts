import {
  addSecrets,
  extractSecrets,
  isRelativeCommand,
  locateHome,
  mergeConfig,
  openVault,
  relativeWord,
  type ServerEntry,
  storedSecrets,
  variablesNamedIn,
} from "../../config/mod.ts";
import { AgentCardsError } from "../../model/mod.ts";
import { system } from "../../platform/start.ts";
import { resolve } from "node:path";
import { jsonLine } from "../json_out.ts";
import type { Terminal } from "../screen/terminal.ts";
import { readOwnFile, writeOwnFile } from "./own_file.ts";
import { type Tried, triedText, tryServer } from "./try.ts";

export interface AddCommand {
  readonly env?: readonly string[];
  readonly header?: readonly string[];
  readonly cwd?: string;
  readonly sse?: boolean;
  readonly shared?: boolean;
  /** False: the server is not started to see whether it works. */
  readonly check?: boolean;
  readonly json?: boolean;
}

/** `agentcards add NAME -- COMMAND…`, `agentcards add NAME URL` */
export async function addServer(
  [name, ...target]: readonly [string, ...string[]],
  options: AddCommand,
  terminal: Terminal,
): Promise<number> {
  const file = await readOwnFile();
  if (Object.hasOwn(file.servers, name)) {
    throw new AgentCardsError("USAGE", `There is a server "${name}" already`, {
      hint: `Choose another name, or run \`agentcards remove ${name}\` first.`,
    });
  }
  const { home, ...entry } = await withoutSecrets(name, entryOf(target, options));
  const additions = { servers: { [name]: entry.server }, deny: [], approve: [] };
  const changed = mergeConfig(file.text, additions, file.path);
  await addSecrets(home.secrets, entry.secrets);
  await writeOwnFile(file, changed);
  const names = Object.keys(entry.secrets);
  if (!options.json) {
    terminal.out(`Added "${name}" to ${file.path}. Open clients have it within two seconds.\n`);
    if (names.length > 0) terminal.out(`${names.join(", ")} went into ${home.secrets}, which only you can read.\n`);
  }
  const tried: Tried | undefined = options.check === false ? undefined : await tryServer(name, terminal);
  if (options.json) terminal.out(jsonLine({ server: name, secrets: names, ...tried && { tried } }));
  else if (tried) terminal.out(triedText(tried, terminal));
  return tried?.ok === false ? 1 : 0;
}

function entryOf(target: readonly string[], { env, header, cwd, sse, shared }: AddCommand): ServerEntry {
  const [first, ...rest] = target;
  const more = { ...shared && { shared } };
  if (/^https?:\/\//i.test(first!) && rest.length === 0) {
    if (env || cwd !== undefined) throw wrong("--env and --cwd are for a program, not for a URL");
    const headers = header?.map((text) => pair(text, /^([^:=\s]+)\s*[:=]\s*(.+)$/s, '--header "Name: value"'));
    return {
      url: first!,
      ...sse && { transport: "sse" },
      ...headers && { headers: Object.fromEntries(headers) },
      ...more,
    };
  }
  if (header || sse) throw wrong("--header and --sse are for a URL, not for a program");
  const variables = env?.map((text) =>
    // A name alone: the value of this variable in whatever session starts the server.
    /^[A-Za-z_]\w*$/.test(text) ? [text, `\${${text}}`] : pair(text, /^([A-Za-z_]\w*)=(.*)$/s, "--env NAME=value")
  );
  return {
    command: isRelativeCommand(first!) ? resolve(first!) : first!,
    ...rest.length > 0 && { args: rest },
    ...variables && { env: Object.fromEntries(variables) },
    ...placeOf(cwd, { command: first!, args: rest }),
    ...more,
  };
}

/** A path that is meant from this folder keeps its meaning in every other one. */
function placeOf(cwd: string | undefined, line: { command: string; args: string[] }): Pick<ServerEntry, "cwd"> {
  if (cwd !== undefined) return { cwd: ["auto", "session", "neutral"].includes(cwd) ? cwd : resolve(cwd) };
  return relativeWord(line) === undefined ? {} : { cwd: system.cwd() };
}

function pair(text: string, form: RegExp, like: string): [string, string] {
  const match = form.exec(text);
  if (!match) throw wrong(`"${text}" must be like ${like}`);
  return [match[1]!, match[2]!];
}

const wrong = (message: string) => new AgentCardsError("USAGE", `Cannot add the server: ${message}`);

/** The definition with references where credentials stood, and the credentials by their names. */
async function withoutSecrets(name: string, server: ServerEntry) {
  const home = locateHome();
  const secrets = await storedSecrets(home);
  const referenced = new Set(variablesNamedIn({ ...server, name, origin: "global" }));
  const vault = openVault({ secrets, env: {}, referenced });
  return { home, server: extractSecrets(name, server, vault), secrets: vault.added };
}
