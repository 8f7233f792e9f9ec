import { type ExactStat, exactStats } from "../platform/mod.ts";
import { fs } from "../platform/start.ts";
import { readlink } from "node:fs/promises";
import type { Group } from "./changes.ts";
import { foldersOf, realFolders } from "./folders.ts";
import { type Entry, isSameEntry } from "./manifest.ts";
import { hashFiles } from "./objects.ts";
import type { Repository } from "./repository.ts";

/** One file that is to be put back; undefined where no file was, or is to be. */
export interface Step {
  readonly path: string;
  readonly from: Entry | undefined;
  readonly to: Entry | undefined;
}

/** A step whose file was compared, with its stat of before: it is only replaced if it is still that. */
export interface SeenStep extends Step {
  readonly seen: ExactStat | undefined;
}

/** A file that stands in the way of an undo. */
export interface Conflict {
  readonly path: string;
  readonly why: string;
}

export interface UndoPlan<S extends Step = Step> {
  readonly steps: readonly S[];
  readonly conflicts: readonly Conflict[];
}

/** The steps that take the changes of groups back, all of which are to be undone; the others say what came in between. */
export function stepsOf(groups: readonly Group[], isChosen: (group: Group) => boolean): UndoPlan {
  const steps = new Map<string, Step>();
  const conflicts = new Map<string, Conflict>();
  const later = new Map<string, string>();
  for (const group of groups.toReversed()) {
    const tasks = [...new Set(group.spans.map(({ task }) => task))].join(", ");
    for (const { path, before, after } of group.changes) {
      if (!isChosen(group)) {
        later.set(path, tasks);
        continue;
      }
      const next = steps.get(path);
      const by = later.get(path);
      if (by !== undefined) conflicts.set(path, { path, why: `the task ${by} changed it afterwards` });
      else if (next && !isSameEntry(next.to, after)) {
        conflicts.set(path, { path, why: `something else changed it after the task ${tasks}` });
      } else steps.set(path, { path, from: next ? next.from : after, to: before });
    }
  }
  const open = [...steps.values()].filter(({ from, to }) => !isSameEntry(from, to));
  return { steps: open, conflicts: [...conflicts.values()] };
}

interface Checking {
  /** True where an undo was interrupted: a file that it had put aside is not there. */
  readonly isGoingOn?: boolean;
  /** True to keep the bytes that are there now: an undo that is interrupted can be taken back by them. */
  readonly isKept?: boolean;
}

/** The steps that are still to be made, with a conflict for every file that is neither as it was left nor as it was. */
export async function checkedSteps(
  repository: Repository,
  { steps, conflicts }: UndoPlan,
  { isGoingOn = false, isKept = false }: Checking = {},
): Promise<UndoPlan<SeenStep>> {
  const paths = steps.map(({ path }) => path);
  const seen = new Map(paths.map((path) => [path, exactStats().look(`${repository.root}/${path}`)]));
  const now = await entriesNow(repository, paths, isKept);
  const found: Conflict[] = [...conflicts];
  const open: SeenStep[] = [];
  const removed = new Set(steps.filter(({ to }) => !to).map(({ path }) => path));
  const isBelowRemoved = (path: string) => foldersOf(path).some((folder) => removed.has(folder));
  for (const step of steps) {
    const { path, from, to } = step;
    const there = now.get(path);
    // The link above it goes first.
    const entry = there === "behind a link" && isBelowRemoved(path) ? undefined : there;
    if (entry === "behind a link") found.push({ path, why: "a folder above it is a link by now" });
    else if (entry === "other") found.push({ path, why: "something that is no file lies there" });
    else if (entry === "folder") {
      // Undone from a folder to a file: all that the folder holds has to go with it.
      const kept = from === undefined || to !== undefined ? keptIn(repository.root, path, removed) : undefined;
      if (kept !== undefined) found.push({ path, why: `a folder lies there that holds ${kept}` });
      else if (from === undefined && to !== undefined) open.push({ ...step, seen: undefined });
      else found.push({ path, why: "a folder lies there by now" });
    } else if (isSameEntry(entry, from) || isGoingOn && entry === undefined) {
      if (!isSameEntry(entry, to)) open.push({ ...step, from: entry, seen: seen.get(path) });
    } else if (!isSameEntry(entry, to)) {
      found.push({ path, why: entry ? "it was changed since" : "it was removed since" });
    }
  }
  return { steps: open, conflicts: found };
}

/** The first file below a folder that an undo would not remove. */
function keptIn(root: string, folder: string, removed: ReadonlySet<string>): string | undefined {
  const { look } = exactStats();
  for (const { name } of fs.readDirSync(`${root}/${folder}`)) {
    const path = `${folder}/${name}`;
    if (look(`${root}/${path}`)?.kind === "folder") {
      const kept = keptIn(root, path, removed);
      if (kept !== undefined) return kept;
    } else if (!removed.has(path)) return path;
  }
}

type Now = Entry | "folder" | "other" | "behind a link" | undefined;

/** The files at paths as they are now. */
async function entriesNow(
  { root, place }: Repository,
  paths: readonly string[],
  isKept: boolean,
): Promise<Map<string, Now>> {
  const { look } = exactStats();
  const isReal = realFolders(root);
  const now = new Map<string, Now>();
  const modes = new Map<string, number>();
  for (const path of paths) {
    const stat = look(`${root}/${path}`);
    if (!stat) now.set(path, undefined);
    else if (!isReal(path)) now.set(path, isBehindLink(root, path) ? "behind a link" : undefined);
    else if (stat.kind === "file") modes.set(path, stat.mode);
    else if (stat.kind === "link") now.set(path, { kind: "link", target: await readlink(`${root}/${path}`) });
    else now.set(path, stat.kind);
  }
  const blobs = await hashFiles(place, [...modes.keys()], { isKept });
  for (const [path, mode] of modes) now.set(path, { kind: "file", mode, blob: blobs.get(path)! });
  return now;
}

function isBehindLink(root: string, path: string): boolean {
  const { look } = exactStats();
  return foldersOf(path).some((folder) => look(`${root}/${folder}`)?.kind === "link");
}
