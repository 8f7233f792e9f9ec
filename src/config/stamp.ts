import { fs } from "../platform/start.ts";
import type { Home } from "./home.ts";
import { projectFilesFrom } from "./trust.ts";

/** Looks at a file: its identity, size and times as a text. */
export type Look = (path: string) => Promise<string>;

/** The files from which the configuration of a folder is made, whether they exist or not. */
export async function configPaths(home: Home, cwd: string): Promise<string[]> {
  return [home.config, home.secrets, home.keyring, home.trust, ...await projectFilesFrom(cwd)];
}

/** A look that looks at each file once: sessions have most of their files in common. */
export function createLook(): Look {
  const seen = new Map<string, Promise<string>>();
  return (path) => seen.getOrInsertComputed(path, () => lookAt(path));
}

/** What the files look like now: another text once one of them was written, replaced or removed. */
export async function stampOf(paths: readonly string[], look: Look = createLook()): Promise<string> {
  return (await Promise.all(paths.map(look))).join("\n");
}

async function lookAt(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtime, ctime } = await fs.stat(path);
    return [dev, ino, size, mtime?.getTime(), ctime?.getTime()].join(" ");
  } catch (error) {
    return fs.isNotFound(error) || fs.isNotADirectory(error) ? "none" : "unreadable";
  }
}
