import type { Config, Viewer } from "../config/mod.ts";
import type { Home } from "../config/start.ts";
import { isObject } from "../model/start.ts";
import { fs } from "../platform/start.ts";

/** The tools, resources and servers that the answer to a handshake tells. */
export type Shown = Config["expose"] & {
  /** The names of the servers that are enabled. */
  readonly servers?: readonly string[];
};

/** The number of folders that are remembered. */
const MOST_FOLDERS = 100;

const fileOf = ({ cache }: Home) => `${cache}/shown.json`;

/** Under what it is remembered: clients in one folder may see other servers. */
const keyOf = (cwd: string, viewer: Viewer) => JSON.stringify([cwd, viewer === "user" ? viewer : viewer.client ?? ""]);

/**
 * Gives the tools and resources that a client in a folder was shown last, if the configuration has not changed since: a
 * handshake need not wait for the session. What a project's own file changes is known to the next client.
 */
export async function lastShown(home: Home, cwd: string, viewer: Viewer): Promise<Shown | undefined> {
  try {
    const entry = (await readAll(home))[keyOf(cwd, viewer)];
    return isObject(entry) && entry.stamp === await stampOf(home) ? entry.shown as Shown : undefined;
  } catch {
    return undefined;
  }
}

/** Remembers what a client in a folder is shown. */
export async function keepShown(
  home: Home,
  { cwd, viewer }: { readonly cwd: string; readonly viewer: Viewer },
  shown: Shown,
): Promise<void> {
  const key = keyOf(cwd, viewer);
  const all = await readAll(home).catch(() => ({} as Record<string, unknown>));
  const entry = { stamp: await stampOf(home), shown };
  if (JSON.stringify(all[key]) === JSON.stringify(entry)) return;
  const { [key]: _old, ...others } = all;
  const kept = Object.fromEntries(Object.entries(others).slice(-MOST_FOLDERS + 1));
  await fs.mkdir(home.cache, { recursive: true, mode: 0o700 });
  // Whole or not at all: the next engine may be reading it.
  const draft = `${fileOf(home)}.${crypto.randomUUID()}`;
  await fs.writeTextFile(draft, JSON.stringify({ ...kept, [key]: entry }), { mode: 0o600 });
  await fs.rename(draft, fileOf(home));
}

/** Something has come or gone that clients are told of: the next ones wait for what is true. */
export async function forgetShown(home: Home): Promise<void> {
  await fs.remove(fileOf(home)).catch(() => {});
}

async function readAll(home: Home): Promise<Record<string, unknown>> {
  const all: unknown = JSON.parse(await fs.readTextFile(fileOf(home)));
  return isObject(all) ? all : {};
}

async function stampOf({ config }: Home): Promise<string> {
  const info = await fs.stat(config).catch(() => undefined);
  return info ? `${info.mtime?.getTime()} ${info.size}` : "none";
}
