import { sha256 } from "../model/mod.ts";
import { type ExactStat, exactStats } from "../platform/mod.ts";
import { fs, system } from "../platform/start.ts";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { type GitPlace, settingsIn, settingsOfUser } from "./git.ts";

/** A user's repository, with the folder of ours that holds what is recorded of it. */
export interface Repository {
  /** The folder of its work tree, without links. */
  readonly root: string;
  readonly place: GitPlace;
  /** The user's own index, to be copied. */
  readonly userIndex: string;
  readonly hashLength: number;
  readonly manifests: string;
  /** True if git changes line ends of every file on its way in or out. */
  readonly changesLineEnds: boolean;
  /** True if attributes may be set by files outside of the work tree. */
  readonly hasAttributes: boolean;
  /** Changes whenever a file that it was opened by does. */
  readonly stamp: string;
}

/** A folder whose files cannot be recorded, with the reason. */
export interface NoRepository {
  readonly problem: string;
}

interface Found {
  readonly root: string;
  /** The folder of the work tree's own state, and of what all work trees of the repository share. */
  readonly own: string;
  readonly common: string;
}

const MOST_OF_A_FILE = 1024 * 1024;

/** The repository that a folder lies in; undefined where there is none. Nothing of it is run, and only files are read. */
export async function findRepository(folder: string): Promise<Found | NoRepository | undefined> {
  const from = await fs.realPath(folder).catch(() => undefined);
  if (from === undefined) return undefined;
  for (let root = from;; root = dirname(root)) {
    const entry = exactStats().look(join(root, ".git"));
    if (entry?.kind === "folder" || entry?.kind === "file") return await openedAt(root, entry);
    if (dirname(root) === root) return undefined;
  }
}

async function openedAt(root: string, entry: ExactStat): Promise<Found | NoRepository> {
  const dotGit = join(root, ".git");
  if (system.uid() !== null && (await fs.lstat(dotGit)).uid !== system.uid()) {
    return { problem: `${dotGit} belongs to another user` };
  }
  const own = entry.kind === "folder" ? dotGit : await pointed(dotGit, /^gitdir: (.+)$/);
  if (own === undefined) return { problem: `${dotGit} names no repository` };
  const common = await pointed(join(own, "commondir"), /^(.+)$/) ?? own;
  const isRepository = exactStats().look(join(common, "objects"))?.kind === "folder";
  return isRepository ? { root, own, common } : { problem: `${common} is no repository` };
}

/** The path that a file of one line names. */
async function pointed(file: string, form: RegExp): Promise<string | undefined> {
  const text = await smallFile(file);
  const path = form.exec(text?.trimEnd() ?? "")?.[1];
  return path === undefined ? undefined : isAbsolute(path) ? path : resolve(dirname(file), path);
}

async function smallFile(path: string): Promise<string | undefined> {
  const info = await fs.stat(path).catch(() => undefined);
  return info?.isFile && info.size <= MOST_OF_A_FILE ? await fs.readTextFile(path) : undefined;
}

/** Opens a repository: makes the folder for what is recorded of it, with the user's own rules on what is ignored. */
export async function openRepository(found: Found, snapshots: string): Promise<Repository | NoRepository> {
  const { root, own, common } = found;
  const stamp = stampOf(found);
  const [user, local] = await Promise.all([settingsOfUser(homeFolder()), localSettings(common)]);
  const settings = new Map([...user, ...local]);
  const workTree = settings.get("core.worktree");
  if (workTree !== undefined && await fs.realPath(resolve(own, workTree)).catch(() => "") !== root) {
    return { problem: `its files lie in another folder, by core.worktree of ${join(common, "config")}` };
  }
  const format = settings.get("extensions.objectformat") ?? "sha1";
  if (format !== "sha1" && format !== "sha256") return { problem: `git's object format ${format} is not known` };
  const folder = join(snapshots, "repositories", (await sha256(root)).slice(0, 16));
  const place: GitPlace = {
    gitDir: join(folder, "git"),
    workTree: root,
    index: join(folder, "index"),
    objects: join(folder, "objects"),
    alternates: join(common, "objects"),
    settings: ignoring(settings),
  };
  const manifests = join(folder, "manifests");
  for (const dir of [join(place.gitDir, "info"), join(place.gitDir, "refs"), place.objects, manifests]) {
    await fs.mkdir(dir, { recursive: true, mode: 0o700 });
  }
  const version = format === "sha1" ? 0 : 1;
  const extension = format === "sha1" ? "" : `[extensions]\n\tobjectFormat = ${format}\n`;
  await write(join(place.gitDir, "config"), `[core]\n\trepositoryFormatVersion = ${version}\n${extension}`);
  await write(join(place.gitDir, "HEAD"), "ref: refs/heads/none\n");
  await write(join(folder, "root"), root);
  for (const name of ["exclude", "attributes"]) {
    await write(join(place.gitDir, "info", name), await smallFile(join(common, "info", name)) ?? "");
  }
  const convert = settings.get("core.autocrlf")?.toLowerCase() ?? "false";
  return Object.freeze({
    root,
    place,
    userIndex: join(own, "index"),
    hashLength: format === "sha1" ? 20 : 32,
    manifests,
    changesLineEnds: !["false", "no", "off", "0", ""].includes(convert),
    hasAttributes: [join(common, "info", "attributes"), ...attributeFiles(settings)]
      .some((path) => exactStats().look(path) !== undefined),
    stamp,
  });
}

/** The state of the files that `openRepository` reads, to be compared: a repository is opened anew where one changed. */
export function stampOf({ own, common }: Found): string {
  const home = homeFolder();
  const paths = [
    join(common, "config"),
    join(common, "info", "exclude"),
    join(common, "info", "attributes"),
    join(own, "commondir"),
    join(home, ".gitconfig"),
    join(configFolder(), "git", "config"),
    join(configFolder(), "git", "ignore"),
    join(configFolder(), "git", "attributes"),
  ];
  return paths.map((path) => {
    const stat = exactStats().look(path);
    return stat ? `${stat.inode}.${stat.size}.${stat.changed}` : "-";
  }).join(" ");
}

async function localSettings(common: string): Promise<[string, string][]> {
  const path = join(common, "config");
  return exactStats().look(path) ? await settingsIn(path) : [];
}

/** The settings that decide which files are ignored. */
function ignoring(settings: ReadonlyMap<string, string>): Record<string, string> {
  const kept: Record<string, string> = {};
  const excludes = settings.get("core.excludesfile") ?? join(configFolder(), "git", "ignore");
  if (exactStats().look(expanded(excludes))) kept["core.excludesFile"] = expanded(excludes);
  const [attributes] = attributeFiles(settings);
  if (attributes !== undefined && exactStats().look(attributes)) kept["core.attributesFile"] = attributes;
  for (const key of ["core.ignorecase", "core.precomposeunicode"]) {
    const value = settings.get(key);
    if (value !== undefined) kept[key] = value;
  }
  return kept;
}

function attributeFiles(settings: ReadonlyMap<string, string>): string[] {
  return [
    expanded(settings.get("core.attributesfile") ?? join(configFolder(), "git", "attributes")),
    "/etc/gitattributes",
  ];
}

function expanded(path: string): string {
  return path.startsWith("~/") ? join(homeFolder(), path.slice(2)) : path;
}

function homeFolder(): string {
  return system.variable("HOME") ?? "/";
}

function configFolder(): string {
  return system.variable("XDG_CONFIG_HOME") ?? join(homeFolder(), ".config");
}

/** Writes a file of ours where it does not hold the text already. */
async function write(path: string, text: string): Promise<void> {
  if (await fs.readTextFile(path).catch(() => undefined) !== text) await fs.writeTextFile(path, text, { mode: 0o600 });
}
