import { AgentCardsError, createBreather, messageOf } from "../model/mod.ts";
import { type ExactStat, exactStats } from "../platform/mod.ts";
import { fs } from "../platform/start.ts";
import { copyFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { convertedAmong } from "./attributes.ts";
import { git } from "./git.ts";
import { parseIndex, type Tracked } from "./index_file.ts";
import { realFolders } from "./folders.ts";
import type { Entry } from "./manifest.ts";
import { hashFiles } from "./objects.ts";
import type { Repository } from "./repository.ts";

/** A file as it was recorded, with the stat by which it is known as unchanged. */
interface Known {
  readonly entry: Entry;
  readonly stat: ExactStat;
}

/** The files of a repository at one time. */
export interface Taken {
  readonly files: ReadonlyMap<string, Known>;
  /** Folders with a repository of their own. */
  readonly nested: readonly string[];
  /** The number of files whose names are no UTF-8, and of those that are neither files nor links. */
  readonly leftOut: number;
  /** The time before the first look at a file, in nanoseconds since 1970. */
  readonly began: number;
  /** The files of the user's index, for as long as that stays as it is. */
  readonly index: IndexList;
}

interface IndexList {
  readonly stat: ExactStat | undefined;
  readonly files: ReadonlyMap<string, Tracked>;
  readonly leftOut: number;
}

/** A repository that is too large to be recorded. */
export interface TooLarge {
  readonly tooLarge: string;
}

export const MOST_FILES = 50_000;
export const MOST_BYTES = 512 * 1024 * 1024;
/** The kernel's clock for files goes by ticks: what was changed in the tick of a look may look the same as before. */
const TICK_NS = 20e6;
const ROUNDS = 5;

/** Records every file that git tracks or would add; unchanged ones are taken from the index or the last time, unread. */
export async function takeSnapshot(repository: Repository, last: Taken | undefined): Promise<Taken | TooLarge> {
  const began = Date.now() * 1e6;
  const index = await listTracked(repository, last?.index);
  const listing = listOthers(repository);
  // Whoever waits for it hears of its failure; until then nobody does.
  listing.catch(() => {});
  const submodules = [...index.files].filter(([, { isSubmodule }]) => isSubmodule).map(([path]) => path);
  // A file that was recorded stays recorded while it is there, though it is ignored by now: its change can be undone.
  const known = new Set([...index.files.keys(), ...last?.files.keys() ?? []]);
  for (const path of submodules) known.delete(path);
  if (known.size > MOST_FILES) return tooMany();
  const looked = createLooking(repository, { index, last });
  // While git lists the others.
  await looked.at(known);
  const others = await listing;
  if (known.size + others.paths.length > MOST_FILES) return tooMany();
  await looked.at(others.paths.filter((path) => !known.has(path)));
  const nested = [...others.nested, ...submodules].toSorted();
  const { files, clean, changed } = looked;
  for (const found of [files, clean, changed]) {
    for (const path of nested.length > 0 ? found.keys() : []) if (isBelow(path, nested)) found.delete(path);
  }
  if (clean.size > 0) {
    const isAttributes = (path: string) => path.endsWith(".gitattributes");
    const converted = await convertedAmong(repository, [...clean.keys()], {
      blobOf: (path) => index.files.get(path)!.blob,
      sizeOf: (path) => clean.get(path)!.size,
      isAnyAttributes: repository.hasAttributes || [...known, ...others.paths].some(isAttributes),
    });
    for (const [path, stat] of clean) {
      if (converted.has(path)) changed.set(path, stat);
      else files.set(path, { entry: { kind: "file", mode: stat.mode, blob: index.files.get(path)!.blob }, stat });
    }
  }
  const bytes = [...changed.values()].reduce((sum, { size }) => sum + size, 0);
  if (bytes > MOST_BYTES) return { tooLarge: `more than ${MOST_BYTES / 1024 / 1024} MB in it are not recorded yet` };
  for (const [path, file] of await readChanged(repository, changed)) files.set(path, file);
  return { files, nested, leftOut: index.leftOut + others.leftOut + looked.leftOut(), began, index };
}

function tooMany(): TooLarge {
  return { tooLarge: `it has more than ${MOST_FILES.toLocaleString("en-US")} files` };
}

/** Looks at files and tells them apart: those whose content is known, those that the index vouches for, the others. */
function createLooking({ root }: Repository, { index, last }: { index: IndexList; last: Taken | undefined }) {
  const { look, isExact } = exactStats();
  const files = new Map<string, Known>();
  const clean = new Map<string, ExactStat>();
  const changed = new Map<string, ExactStat>();
  let leftOut = 0;
  const isReal = realFolders(root);
  const breathe = createBreather();
  return {
    files,
    clean,
    changed,
    leftOut: () => leftOut,
    async at(paths: Iterable<string>): Promise<void> {
      for (const path of paths) {
        const pause = breathe();
        if (pause) await pause;
        const stat = isReal(path) ? look(`${root}/${path}`) : undefined;
        if (!stat) continue;
        const known = last?.files.get(path);
        if (known && isExact && isSameStat(stat, known.stat) && isOlder(stat, last!.began)) files.set(path, known);
        else if (stat.kind === "link") {
          const entry = await linkAt(join(root, path));
          if (entry) files.set(path, { entry, stat });
        } else if (stat.kind !== "file") leftOut += stat.kind === "other" ? 1 : 0;
        else if (isExact && isAsIndexed(stat, index.files.get(path), index.stat)) clean.set(path, stat);
        else changed.set(path, stat);
      }
    },
  };
}

/** The bytes of files as blobs. What changes while it is read is read again; what has gone is left. */
async function readChanged(
  repository: Repository,
  changed: ReadonlyMap<string, ExactStat>,
): Promise<Map<string, Known>> {
  const { look } = exactStats();
  const read = new Map<string, Known>();
  let open = changed;
  let problem: unknown;
  for (let round = 0; open.size > 0 && round < ROUNDS; round++) {
    const again = new Map<string, ExactStat>();
    const blobs = await hashFiles(repository.place, [...open.keys()]).catch((error) => {
      problem = error;
      return undefined;
    });
    for (const [path, before] of open) {
      const after = look(`${repository.root}/${path}`);
      if (after?.kind === "link") {
        const entry = await linkAt(join(repository.root, path));
        if (entry) read.set(path, { entry, stat: after });
      } else if (after?.kind === "file") {
        const blob = blobs?.get(path);
        const isQuiet = blob !== undefined && isSameStat(before, after);
        if (blob !== undefined) read.set(path, { entry: { kind: "file", mode: after.mode, blob }, stat: after });
        if (!isQuiet) again.set(path, after);
      } else read.delete(path);
    }
    open = again;
  }
  const unread = [...open.keys()].find((path) => !read.has(path));
  if (unread === undefined) return read;
  throw new AgentCardsError("SNAPSHOT_FAILED", `Cannot record ${unread}: ${messageOf(problem)}`, { cause: problem });
}

async function linkAt(path: string): Promise<Entry | undefined> {
  const target = await readlink(path).catch((error) => {
    if (error.code === "ENOENT" || error.code === "EINVAL") return undefined;
    throw error;
  });
  return target === undefined ? undefined : { kind: "link", target };
}

function isSameStat(one: ExactStat, other: ExactStat): boolean {
  return one.size === other.size && one.inode === other.inode && one.modified === other.modified &&
    one.changed === other.changed && one.mode === other.mode && one.kind === other.kind;
}

/** True if a change after the given time would show. */
function isOlder({ modified, changed }: ExactStat, time: number): boolean {
  return Math.max(modified, changed) < time - TICK_NS;
}

/** True if git's index remembers the file exactly so, and was written later than the file was changed. */
function isAsIndexed(stat: ExactStat, tracked: Tracked | undefined, index: ExactStat | undefined): boolean {
  const known = tracked?.stat;
  return known !== undefined && index !== undefined && known.size === stat.size % 2 ** 32 &&
    known.inode === stat.inode % 2 ** 32 && known.modified === stat.modified && known.changed === stat.changed &&
    isOlder(stat, index.modified);
}

async function listTracked({ userIndex, place, hashLength }: Repository, last?: IndexList): Promise<IndexList> {
  const { look } = exactStats();
  const stat = look(userIndex);
  if (last && stat && last.stat && isSameStat(stat, last.stat) && isOlder(stat, Date.now() * 1e6)) return last;
  if (!stat) {
    await fs.remove(place.index).catch(() => {});
    return { stat, files: new Map(), leftOut: 0 };
  }
  // Git replaces an index by a rename, so that a copy is a whole one.
  const bytes = await fs.readFile(userIndex);
  await fs.writeFile(place.index, bytes, { mode: 0o600 });
  const parsed = parseIndex(bytes, hashLength);
  if (parsed) return { stat, files: parsed.files, leftOut: parsed.unnamed };
  return { stat: undefined, ...await listByGit({ userIndex, place }) };
}

/** The files of an index in a form that only git reads: a split or a sparse one. */
async function listByGit(
  { userIndex, place }: Pick<Repository, "userIndex" | "place">,
): Promise<Omit<IndexList, "stat">> {
  const folder = userIndex.slice(0, userIndex.lastIndexOf("/"));
  for await (const { name } of fs.readDir(folder)) {
    if (name.startsWith("sharedindex.")) await copyFile(join(folder, name), join(place.gitDir, name));
  }
  const files = new Map<string, Tracked>();
  const { names, leftOut } = namesIn(await git(place, { args: ["ls-files", "--stage", "-z"] }));
  for (const line of names) {
    const [mode = "", blob = ""] = line.split(" ", 2);
    files.set(line.slice(line.indexOf("\t") + 1), { blob, isSubmodule: mode === "160000" });
  }
  return { files, leftOut };
}

interface Others {
  readonly paths: readonly string[];
  readonly nested: readonly string[];
  readonly leftOut: number;
}

/** The files that git does not track and does not ignore, and the folders among them that are repositories. */
async function listOthers({ place }: Repository): Promise<Others> {
  const { names, leftOut } = namesIn(await git(place, { args: ["ls-files", "--others", "--exclude-standard", "-z"] }));
  return {
    paths: names.filter((name) => !name.endsWith("/")),
    nested: names.filter((name) => name.endsWith("/")).map((name) => name.slice(0, -1)),
    leftOut,
  };
}

/** Names that end in a NUL; those that are no UTF-8 cannot be opened by this runtime. */
function namesIn(bytes: Uint8Array): { names: string[]; leftOut: number } {
  const text = new TextDecoder().decode(bytes);
  const names = text.split("\0").filter((name) => name !== "");
  const readable = text.includes("\uFFFD") ? names.filter((name) => !name.includes("\uFFFD")) : names;
  return { names: readable, leftOut: names.length - readable.length };
}

function isBelow(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}
