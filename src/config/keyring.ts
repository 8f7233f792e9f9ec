import { AgentCardsError, messageOf } from "../model/mod.ts";
import { replaceFile, systemProgram } from "../platform/mod.ts";
import { Command, fs, system } from "../platform/start.ts";
import type { Home } from "./home.ts";
import { parseSecrets, readSecrets } from "./secrets.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** The service under which values lie in the system's keyring. */
const SERVICE = "agentcards";
const PATIENCE_MS = 10_000;
/** The variables by which a program finds the keyring of the user's session. */
const SESSION = ["HOME", "USER", "LOGNAME", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY"];

/** The variables of `secrets.env` and of the keyring; one that is in both has the keyring's value. */
export async function storedSecrets(
  home: Pick<Home, "secrets" | "keyring">,
  env: Variables = system.env(),
): Promise<Record<string, string>> {
  const filed = await readSecrets(home.secrets);
  const names = await keyringNames(home.keyring);
  if (names.length === 0) return filed;
  const values = await Promise.all(names.map(async (name) => [name, await readFromKeyring(name, env)] as const));
  // A name without a value was removed by another program: its variable is not set.
  return { ...filed, ...Object.fromEntries(values.filter((one): one is [string, string] => one[1] !== undefined)) };
}

/** The names of the values that were put into the keyring: a file has them, since a keyring cannot list its names alone. */
export async function keyringNames(path: string): Promise<string[]> {
  try {
    return (await fs.readTextFile(path)).split("\n").filter((name) => SECRET_NAME.test(name));
  } catch (error) {
    if (fs.isNotFound(error)) return [];
    throw new AgentCardsError("CONFIG_INVALID", `Cannot read ${path}: ${messageOf(error)}`);
  }
}

/** The names that a variable may have. */
export const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

export async function putIntoKeyring(home: Pick<Home, "keyring">, name: string, value: string): Promise<void> {
  const { code, error } = system.os === "darwin"
    ? await pipe("security", ["-i"], addCommand(name, value))
    : await pipe("secret-tool", ["store", `--label=${SERVICE} ${name}`, "service", SERVICE, "account", name], value);
  if (code !== 0) throw unusable("store", error);
  await writeNames(home.keyring, [...await keyringNames(home.keyring), name]);
}

/** Takes a value out of the keyring; false if it was not there. */
export async function removeFromKeyring(home: Pick<Home, "keyring">, name: string): Promise<boolean> {
  const names = await keyringNames(home.keyring);
  if (!names.includes(name)) return false;
  if (system.os === "darwin") await pipe("security", ["delete-generic-password", "-s", SERVICE, "-a", name]);
  else await pipe("secret-tool", ["clear", "service", SERVICE, "account", name]);
  await writeNames(home.keyring, names.filter((one) => one !== name));
  return true;
}

async function readFromKeyring(name: string, env: Variables): Promise<string | undefined> {
  const { code, output, error } = system.os === "darwin"
    ? await pipe("security", ["find-generic-password", "-s", SERVICE, "-a", name, "-w"], "", env)
    : await pipe("secret-tool", ["lookup", "service", SERVICE, "account", name], "", env);
  if (code === 0) return output.replace(/\n$/, "");
  if (error !== "") throw unusable("read", error);
  return undefined;
}

/** A command for `security -i`, which reads it from stdin: an argument could be read by every user of the machine. */
function addCommand(name: string, value: string): string {
  if (/[\n\r]/.test(value)) {
    throw new AgentCardsError("USAGE", "The keyring of macOS takes no value of several lines", {
      hint: "Set `secrets.store: file` for it.",
    });
  }
  const quoted = value.replace(/["\\]/g, (character) => `\\${character}`);
  return `add-generic-password -U -s ${SERVICE} -a ${name} -w "${quoted}"\n`;
}

async function writeNames(path: string, names: readonly string[]): Promise<void> {
  await replaceFile(path, [...new Set(names)].sort().map((name) => `${name}\n`).join(""), { mode: 0o600 });
}

function unusable(action: string, why: string): AgentCardsError {
  return new AgentCardsError("CONFIG_INVALID", `Cannot ${action} a value in the system's keyring: ${why.trim()}`, {
    hint: "Is a keyring running in your session? `secrets.store: file` keeps values in secrets.env instead.",
  });
}

interface Piped {
  readonly code: number;
  readonly output: string;
  readonly error: string;
}

async function pipe(
  program: string,
  args: readonly string[],
  input = "",
  env: Variables = system.env(),
): Promise<Piped> {
  const variables = Object.fromEntries(SESSION.flatMap((name) => env[name] === undefined ? [] : [[name, env[name]!]]));
  try {
    const child = new Command(systemProgram(program), {
      args: [...args],
      clearEnv: true,
      env: variables,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      signal: AbortSignal.timeout(PATIENCE_MS),
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(input)).catch(() => {});
    await writer.close().catch(() => {});
    const { code, stdout, stderr } = await child.output();
    const decoder = new TextDecoder();
    return { code, output: decoder.decode(stdout), error: decoder.decode(stderr).slice(0, 500) };
  } catch (error) {
    return {
      code: -1,
      output: "",
      error: fs.isNotFound(error) ? `there is no program "${program}"` : messageOf(error),
    };
  }
}

/** A variable of `secrets.env` set, replaced or removed; false where there was none to remove. Other lines stay. */
export async function editSecrets(path: string, name: string, value: string | undefined): Promise<boolean> {
  const before = await fs.readTextFile(path).catch((error) => {
    if (fs.isNotFound(error)) return "";
    throw error;
  });
  const isOther = (line: string) => !Object.hasOwn(parseSecrets(line), name);
  const lines = before.split("\n");
  const kept = lines.filter(isOther);
  const wasThere = kept.length < lines.length;
  if (value === undefined && !wasThere) return false;
  const text = kept.join("\n").replace(/\n*$/, kept.join("").trim() === "" ? "" : "\n");
  const added = value === undefined ? "" : `${name}=${JSON.stringify(value)}\n`;
  await replaceFile(path, text + added, { mode: 0o600 });
  return wasThere;
}
