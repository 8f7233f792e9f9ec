import { AgentCardsError, messageOf, sha256 } from "../model/mod.ts";
import { fs, system } from "../platform/start.ts";
import { dirname, join } from "node:path";
import { trustedByClaude } from "./client_trust.ts";
import type { Home } from "./home.ts";
import { isPinnedFile, isPinnedFolder, keepText, lastTrusted, pin, readPins, unpin } from "./pins.ts";
import { MAX_BYTES } from "./read.ts";

/** A project's configuration file and whether the user has seen and pinned exactly this text. */
export interface ProjectFile {
  readonly path: string;
  readonly text: string;
  readonly hash: string;
  readonly trusted: boolean;
}

/** The place of a project's file between a folder and the root, with what is there and what was trusted. */
export interface ProjectPlace {
  readonly path: string;
  readonly file?: ProjectFile;
  /** The text that was trusted last, where it is not the one that is there. */
  readonly last?: string;
  /** The reason why what is there is not read. */
  readonly problem?: string;
  /** True if what is there belongs to another user. */
  readonly isForeign?: boolean;
}

/** Every place from a folder upwards where a project's file is or was trusted, the nearest first. */
export async function projectPlaces(cwd: string, home: Home): Promise<ProjectPlace[]> {
  const pins = await readPins(home);
  const found: ProjectPlace[] = [];
  for (const folder of upwards(await realPath(cwd))) {
    const path = join(folder, ".agentcards", "config.yaml");
    const there = await look(path);
    if (there.kind !== "nothing" && await isSame(path, home.config)) continue;
    const hash = there.kind === "text" ? await sha256(there.text) : "";
    const trusted = there.kind === "text" && isPinnedFile(pins, path, hash);
    const kept = await lastTrusted(home, path);
    // Trusted by a version that kept no text.
    if (trusted && kept === undefined) await keepText(home, path, there.text).catch(() => {});
    const last = trusted ? undefined : kept;
    if (there.kind === "nothing" && last === undefined) continue;
    found.push(Object.freeze({
      path,
      ...there.kind === "text" && { file: Object.freeze({ path, text: there.text, hash, trusted }) },
      ...last !== undefined && { last },
      ...there.kind === "problem" && { problem: there.problem },
      ...there.kind === "foreign" && { isForeign: true },
    }));
  }
  return found;
}

/** The nearest `.agentcards/config.yaml` from a folder upwards. The home's own file is no project's. */
export async function findProject(cwd: string, home: Home): Promise<ProjectFile | undefined> {
  for (const folder of upwards(await realPath(cwd))) {
    const path = join(folder, ".agentcards", "config.yaml");
    const there = await look(path);
    if (there.kind !== "text" || await isSame(path, home.config)) continue;
    const hash = await sha256(there.text);
    return Object.freeze({ path, text: there.text, hash, trusted: isPinnedFile(await readPins(home), path, hash) });
  }
}

/** The paths at which a project's file is looked for, the nearest first. */
export async function projectFilesFrom(cwd: string): Promise<string[]> {
  return [...upwards(await realPath(cwd))].map((folder) => join(folder, ".agentcards", "config.yaml"));
}

function* upwards(folder: string): Generator<string> {
  for (let dir = folder;; dir = dirname(dir)) {
    yield dir;
    if (dirname(dir) === dir) return;
  }
}

type Look =
  | { readonly kind: "nothing" | "foreign" }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "problem"; readonly problem: string };

/** A foreign repository must not make us read a device or a giant; but what cannot be read is told, never passed over. */
async function look(path: string): Promise<Look> {
  try {
    const link = await fs.lstat(path);
    const info = await fs.stat(path);
    if (system.uid() !== null && (info.uid !== system.uid() || link.uid !== system.uid())) return { kind: "foreign" };
    if (!info.isFile) return { kind: "problem", problem: "it is no plain file" };
    if (info.size > MAX_BYTES) return { kind: "problem", problem: "it is larger than 1 MB" };
    return { kind: "text", text: await fs.readTextFile(path) };
  } catch (error) {
    if (fs.isNotFound(error) || fs.isNotADirectory(error)) return { kind: "nothing" };
    return { kind: "problem", problem: messageOf(error) };
  }
}

/** Whether two paths lead to one file, through whatever links. */
async function isSame(one: string, other: string): Promise<boolean> {
  return await realPath(one) === await realPath(other);
}

async function realPath(path: string): Promise<string> {
  return await fs.realPath(path).catch(() => path);
}

/** Pins the text that was shown, and trusts its folder; fails when the file has changed since. */
export async function trustProject(project: ProjectFile, home: Home): Promise<void> {
  if (await sha256(await fs.readTextFile(project.path)) !== project.hash) {
    throw new AgentCardsError("CONFIG_UNTRUSTED", `Cannot trust ${project.path}: it changed while you were reading`, {
      hint: "Run `agentcards trust` again.",
    });
  }
  await pin(home, { folders: [projectRoot(project)], files: [project] });
}

/** Trusts a folder as such: servers may be started in it. */
export async function trustFolder(folder: string, home: Home): Promise<void> {
  await pin(home, { folders: [await realPath(folder)] });
}

/** Takes back the trust in a folder and in the nearest project's file that was ever trusted from it upwards. */
export async function forgetTrust(cwd: string, home: Home): Promise<string[]> {
  const pins = await readPins(home);
  const paths = [await realPath(cwd)];
  for (const folder of upwards(paths[0]!)) {
    const path = join(folder, ".agentcards", "config.yaml");
    const isKnown = Object.hasOwn(pins, path) || await lastTrusted(home, path).then(Boolean, () => true);
    if (!isKnown && !isPinnedFolder(pins, folder)) continue;
    return await unpin(home, [...new Set([...paths, folder, path])]);
  }
  return await unpin(home, paths);
}

/** The folder that a project's file is for. */
export function projectRoot({ path }: Pick<ProjectFile, "path">): string {
  return dirname(dirname(path));
}

/** A session's folder, and by whose word it is trusted, if it is. */
export interface SessionFolder {
  readonly path: string;
  readonly trustedBy?: "agentcards" | "claude-code";
}

/**
 * A folder is trusted by its own path or by that of its repository, as in Claude Code; trust in any other folder above
 * says nothing about what was put below it. A home directory that is a repository makes no other folder trusted.
 */
export async function sessionFolder(
  cwd: string,
  home: Home,
  env: Readonly<Record<string, string | undefined>>,
): Promise<SessionFolder> {
  const path = await realPath(cwd);
  const repository = await repositoryOf(path);
  const isHome = repository !== undefined && env.HOME !== undefined && repository === await realPath(env.HOME);
  const folders = [path, ...repository === undefined || isHome ? [] : [repository]];
  const pins = await readPins(home);
  const hasTrustedFile = async (folder: string) => {
    const file = join(folder, ".agentcards", "config.yaml");
    const there = Object.hasOwn(pins, file) ? await look(file) : undefined;
    return there?.kind === "text" && isPinnedFile(pins, file, await sha256(there.text));
  };
  for (const folder of folders) {
    if (isPinnedFolder(pins, folder) || await hasTrustedFile(folder)) return { path, trustedBy: "agentcards" };
  }
  const byClaude = await trustedByClaude(env, repository ?? path);
  return folders.some((folder) => byClaude.has(folder)) ? { path, trustedBy: "claude-code" } : { path };
}

/** The nearest folder with a `.git`; a work tree or submodule, where that is a file, is a repository of its own. */
async function repositoryOf(path: string): Promise<string | undefined> {
  for (const folder of upwards(path)) {
    if (await fs.lstat(join(folder, ".git")).then(() => true, () => false)) return folder;
  }
}
