import { Buffer } from "node:buffer";
import {
  editSecrets,
  ensureHome,
  keyringNames,
  loadConfig,
  locateHome,
  putIntoKeyring,
  readSecrets,
  removeFromKeyring,
  SECRET_NAME,
} from "../config/mod.ts";
import { AgentCardsError, cut, oneLine } from "../model/mod.ts";
import { stdio, system } from "../platform/start.ts";
import { jsonLine } from "./json_out.ts";
import type { Terminal } from "./screen/terminal.ts";

const LONGEST_VALUE = 64 * 1024;

/** `agentcards secrets set NAME`: the value comes from stdin or a hidden prompt, never from the command line. */
export async function setSecret(name: string, terminal: Terminal): Promise<number> {
  requireName(name);
  const home = locateHome();
  await ensureHome(home);
  const { config } = await loadConfig(home, system.cwd(), { env: system.env(), viewer: "user" });
  const value = await readValue(name);
  if (value === undefined) {
    terminal.err("Nothing was set.\n");
    return 1;
  }
  const { store } = config.secrets;
  if (store === "keyring") {
    await putIntoKeyring(home, name, value);
    // One place: a value in both would outlive its removal from the keyring.
    await editSecrets(home.secrets, name, undefined);
  } else {
    await editSecrets(home.secrets, name, value);
    await removeFromKeyring(home, name);
  }
  terminal.out(`${name} is set, in ${store === "keyring" ? "the system's keyring" : home.secrets}.\n`);
  return 0;
}

/** `agentcards secrets list`: names and places, never values. */
export async function listSecrets({ json }: { json?: boolean }, terminal: Terminal): Promise<number> {
  const home = locateHome();
  const found = [
    ...Object.keys(await readSecrets(home.secrets)).map((name) => ({ name, store: "file" })),
    ...(await keyringNames(home.keyring)).map((name) => ({ name, store: "keyring" })),
  ].sort((a, b) => a.name < b.name ? -1 : 1);
  if (json) terminal.out(jsonLine(found));
  else if (found.length === 0) terminal.out("There are none. `agentcards secrets set NAME` sets one.\n");
  else for (const { name, store } of found) terminal.out(`${name}${store === "keyring" ? " (keyring)" : ""}\n`);
  return 0;
}

/** `agentcards secrets remove NAME` */
export async function removeSecret(name: string, terminal: Terminal): Promise<number> {
  requireName(name);
  const home = locateHome();
  const removed = [await editSecrets(home.secrets, name, undefined), await removeFromKeyring(home, name)];
  if (removed.includes(true)) terminal.out(`${name} is removed.\n`);
  else terminal.err(`There is no secret ${name}. \`agentcards secrets list\` lists their names.\n`);
  return removed.includes(true) ? 0 : 1;
}

function requireName(name: string): void {
  if (SECRET_NAME.test(name)) return;
  throw new AgentCardsError("USAGE", `"${cut(oneLine(name), 60)}" is no name of a variable`, {
    hint: "Give the name alone, such as GITHUB_TOKEN; the value is asked for, or read from stdin.",
  });
}

async function readValue(name: string): Promise<string | undefined> {
  if (stdio.stdin.isTerminal()) {
    const { isCancel, password } = await import("@clack/prompts");
    const answer = await password({ message: `The value of ${name}` });
    return isCancel(answer) || answer === "" ? undefined : answer;
  }
  const bytes: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stdio.stdin.readable) {
    length += chunk.length;
    if (length > LONGEST_VALUE) throw new AgentCardsError("USAGE", `The value has more than ${LONGEST_VALUE} bytes`);
    bytes.push(chunk);
  }
  const text = new TextDecoder().decode(Buffer.concat(bytes)).replace(/\r?\n$/, "");
  return text === "" ? undefined : text;
}
