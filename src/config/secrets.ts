import { AgentCardsError, messageOf } from "../model/mod.ts";
import { replaceFile } from "../platform/mod.ts";
import { fs, system } from "../platform/start.ts";

/** The variables of `secrets.env`: `NAME=value` lines, values optionally quoted, `#` comments. */
export async function readSecrets(path: string): Promise<Record<string, string>> {
  try {
    return parseSecrets(await fs.readTextFile(path));
  } catch (cause) {
    if (fs.isNotFound(cause)) return {};
    throw new AgentCardsError("CONFIG_INVALID", `Cannot read ${path}: ${messageOf(cause)}`, { cause });
  }
}

export function parseSecrets(text: string): Record<string, string> {
  const secrets: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$/s.exec(line);
    if (match) secrets[match[1]!] = unquote(match[2]!);
  }
  return secrets;
}

/** The value without its quotes and without a comment that follows white space. */
function unquote(text: string): string {
  const quoted = /^(?:"((?:[^"\\]|\\.)*)"|'([^']*)')(?:\s+#.*)?$/s.exec(text);
  if (!quoted) return /^["']/.test(text) ? text : text.replace(/(?:^|\s+)#.*$/s, "");
  const [, double, single] = quoted;
  if (double === undefined) return single!;
  try {
    return JSON.parse(`"${double}"`);
  } catch {
    return double;
  }
}

/** Adds variables to `secrets.env`, keeping what is there. Mode 0600 from the first byte. */
export async function addSecrets(path: string, secrets: Readonly<Record<string, string>>): Promise<void> {
  if (Object.keys(secrets).length === 0) return;
  const before = await fs.readTextFile(path).catch((error) => {
    if (fs.isNotFound(error)) return "";
    throw error;
  });
  const lines = Object.entries(secrets).map(([name, value]) => `${name}=${JSON.stringify(value)}\n`);
  const start = before === "" || before.endsWith("\n") ? before : before + "\n";
  await replaceFile(path, start + lines.join(""), { mode: 0o600 });
}

/** Files with credentials that others on this machine can read. */
export async function readableByOthers(paths: readonly string[]): Promise<string[]> {
  if (system.os === "windows") return [];
  const found: string[] = [];
  for (const path of paths) {
    const info = await fs.stat(path).catch(() => null);
    if (info?.mode && (info.mode & 0o077) !== 0) found.push(path);
  }
  return found;
}
