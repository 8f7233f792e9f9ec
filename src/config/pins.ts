import { AgentCardsError, isObject, messageOf, sha256 } from "../model/mod.ts";
import { fs } from "../platform/start.ts";
import type { Home } from "./home.ts";
import { replaceFile } from "./write.ts";

/** The value of a folder that is trusted as such; a file's value is the hash of its trusted text. */
const FOLDER = "folder";

/** The trusted files and folders by their paths. */
export type Pins = Readonly<Record<string, unknown>>;

/** The pins of a home. A missing or damaged file trusts nothing. */
export async function readPins(home: Home): Promise<Pins> {
  try {
    const pins: unknown = JSON.parse(await fs.readTextFile(home.trust));
    return isObject(pins) ? pins : {};
  } catch {
    return {};
  }
}

/** True if a folder itself was trusted. */
export function isPinnedFolder(pins: Pins, folder: string): boolean {
  return Object.hasOwn(pins, folder) && pins[folder] === FOLDER;
}

/** True if exactly this text of a file was trusted. */
export function isPinnedFile(pins: Pins, path: string, hash: string): boolean {
  return Object.hasOwn(pins, path) && pins[path] === hash;
}

/** Records trust in folders and in the texts of files. */
export async function pin(home: Home, { folders = [], files = [] }: Pinned): Promise<void> {
  // The text first: a pin without its text would not tighten once the file is gone.
  for (const { path, text } of files) await keepText(home, path, text);
  const hashes = await Promise.all(files.map(async ({ path, text }) => [path, await sha256(text)]));
  await write(home, {
    ...await readPins(home),
    ...Object.fromEntries(folders.map((folder) => [folder, FOLDER])),
    ...Object.fromEntries(hashes),
  });
}

interface Pinned {
  readonly folders?: readonly string[];
  readonly files?: readonly { readonly path: string; readonly text: string }[];
}

/** Takes trust back, and with it the rules of texts that were trusted. Gives the paths that had any. */
export async function unpin(home: Home, paths: readonly string[]): Promise<string[]> {
  const pins = await readPins(home);
  const kept = await Promise.all(paths.map(async (path) => await lastTrusted(home, path) !== undefined));
  await write(home, Object.fromEntries(Object.entries(pins).filter(([path]) => !paths.includes(path))));
  for (const path of paths) await fs.remove(await textFile(home, path)).catch(() => {});
  return paths.filter((path, i) => kept[i] || Object.hasOwn(pins, path));
}

/** The text of a file that was trusted last. One that is there and cannot be read is an error: it may hold rules. */
export async function lastTrusted(home: Home, path: string): Promise<string | undefined> {
  const file = await textFile(home, path);
  try {
    const kept: unknown = JSON.parse(await fs.readTextFile(file));
    if (isObject(kept) && typeof kept.text === "string") return kept.text;
    throw new Error("it is not as it was written");
  } catch (cause) {
    if (fs.isNotFound(cause)) return undefined;
    throw new AgentCardsError("CONFIG_INVALID", `Cannot read the trusted text of ${path}: ${messageOf(cause)}`, {
      cause,
      hint: `Run \`agentcards trust\` or \`agentcards trust --forget\` in its folder, or remove ${file}.`,
    });
  }
}

/** Keeps the text of a file that is trusted. */
export async function keepText(home: Home, path: string, text: string): Promise<void> {
  await fs.mkdir(home.trusted, { recursive: true, mode: 0o700 });
  await replaceFile(await textFile(home, path), encode({ path, text }), 0o600);
}

async function textFile(home: Home, path: string): Promise<string> {
  return `${home.trusted}/${await sha256(path)}.json`;
}

async function write(home: Home, pins: Pins): Promise<void> {
  await replaceFile(home.trust, encode(pins), 0o600);
}

function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value, null, 2) + "\n");
}
