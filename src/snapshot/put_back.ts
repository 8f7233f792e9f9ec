import { AgentCardsError, messageOf } from "../model/mod.ts";
import { exactStats, syncPath } from "../platform/mod.ts";
import { fs } from "../platform/start.ts";
import { open, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { foldersOf, realFolders } from "./folders.ts";
import { readBlob } from "./objects.ts";
import type { Repository } from "./repository.ts";
import type { SeenStep } from "./undo_plan.ts";

/** The folder in the work tree in which files are prepared and put aside; it is on the same disk. */
function stageOf(root: string, undo: string): string {
  return join(root, `.agentcards-undo-${undo}`);
}

/**
 * Makes the steps of an undo, all or none. First every file is written beside; then files are only renamed, each after a
 * look that it is still the one that was compared. A step that fails takes back those before it. What is put aside is
 * removed at the end: until then no byte of the user's is lost, whatever happens.
 */
export async function makeSteps(repository: Repository, undo: string, steps: readonly SeenStep[]): Promise<void> {
  const { root } = repository;
  const stage = stageOf(root, undo);
  await removeStage(root, undo);
  await fs.mkdir(stage, { mode: 0o700 });
  const done: (() => Promise<void>)[] = [];
  try {
    await prepare(repository, stage, steps);
    await putAside(root, { stage, steps, done });
    await putInPlace(root, { stage, steps, done });
    for (const folder of new Set(steps.map(({ path }) => dirname(join(root, path))))) {
      if (exactStats().look(folder)) await syncPath(folder);
    }
  } catch (cause) {
    const lost: string[] = [];
    for (const takeBack of done.toReversed()) await takeBack().catch((error) => lost.push(messageOf(error)));
    if (lost.length > 0) {
      throw new AgentCardsError("SNAPSHOT_FAILED", `The undo stopped half-way: ${messageOf(cause)}; ${lost[0]}`, {
        cause,
        data: { isHalfWay: true },
        hint:
          `Files that were put aside lie in ${stage}. The same command finishes it, with --take-back it is taken back.`,
      });
    }
    await removeStage(root, undo);
    throw new AgentCardsError("SNAPSHOT_FAILED", `Nothing was undone: ${messageOf(cause)}`, { cause });
  }
  await removeStage(root, undo);
}

/** True for the error of an undo of which a part is done. */
export function isHalfWay(error: unknown): boolean {
  return error instanceof AgentCardsError && error.data?.isHalfWay === true;
}

/** Removes the files that an undo has put aside. */
export async function removeStage(root: string, undo: string): Promise<void> {
  await fs.remove(stageOf(root, undo), { recursive: true }).catch((error) => {
    if (!fs.isNotFound(error)) throw error;
  });
}

/** Writes every file that is to come back, whole and synced: a full disk is found before anything was changed. */
async function prepare(repository: Repository, stage: string, steps: readonly SeenStep[]): Promise<void> {
  for (const [i, { to }] of steps.entries()) {
    if (!to) continue;
    const path = join(stage, `new-${i}`);
    if (to.kind === "link") {
      await symlink(to.target, path);
      continue;
    }
    const file = await open(path, "wx", 0o600);
    try {
      await file.writeFile(await readBlob(repository.place, to.blob));
      await file.chmod(to.mode);
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

interface Making {
  readonly stage: string;
  readonly steps: readonly SeenStep[];
  /** Takes back, the newest last. */
  readonly done: (() => Promise<void>)[];
}

/** Puts aside what is there, and removes the folders that are empty by that, where no file is to come. */
async function putAside(root: string, { stage, steps, done }: Making): Promise<void> {
  const { look } = exactStats();
  for (const [i, { path, from, seen }] of steps.entries()) {
    if (!from) continue;
    const [place, aside] = [join(root, path), join(stage, `old-${i}`)];
    if (!realFolders(root)(path)) throw new Error(`a folder above ${path} was replaced meanwhile`);
    await fs.rename(place, aside);
    done.push(() => fs.rename(aside, place));
    const after = look(aside);
    const isSame = after !== undefined && seen !== undefined && after.inode === seen.inode &&
      after.mode === seen.mode &&
      after.size === seen.size && after.modified === seen.modified;
    if (!isSame) throw new Error(`${path} was changed meanwhile`);
  }
  const needed = new Set(steps.flatMap(({ path, to }) => to ? foldersOf(path) : []));
  const left = new Set(steps.flatMap(({ path, to }) => to ? [] : foldersOf(path)));
  const targets = new Set(steps.flatMap(({ path, to }) => to ? [path] : []));
  const deepest = [...left].filter((folder) => !needed.has(folder)).toSorted((a, b) => b.length - a.length);
  for (const folder of [...deepest, ...targets]) {
    const place = join(root, folder);
    if (look(place)?.kind !== "folder" || !isEmpty(place)) continue;
    const mode = look(place)!.mode;
    await fs.remove(place);
    done.push(async () => {
      await fs.mkdir(place);
      await fs.chmod(place, mode);
    });
  }
}

function isEmpty(folder: string): boolean {
  for (const _ of fs.readDirSync(folder)) return false;
  return true;
}

/** Moves the prepared files into their places, with the folders that they need. */
async function putInPlace(root: string, { stage, steps, done }: Making): Promise<void> {
  const { look } = exactStats();
  for (const [i, { path, to }] of steps.entries()) {
    if (!to) continue;
    for (const folder of foldersOf(path)) {
      if (look(join(root, folder))) continue;
      await fs.mkdir(join(root, folder));
      done.push(() => fs.remove(join(root, folder)));
    }
    const [ready, place] = [join(stage, `new-${i}`), join(root, path)];
    if (!realFolders(root)(path)) throw new Error(`a folder above ${path} was replaced meanwhile`);
    if (look(place)) throw new Error(`${path} was made meanwhile`);
    await fs.rename(ready, place);
    done.push(() => fs.rename(place, ready));
  }
}
