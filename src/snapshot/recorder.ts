import { createTurns } from "../model/mod.ts";
import { hasGit } from "./git.ts";
import { createManifests, type Entries, type Manifests } from "./manifest.ts";
import { findRepository, openRepository, type Repository, stampOf } from "./repository.ts";
import { type Taken, takeSnapshot, type TooLarge } from "./take.ts";

/** A snapshot that is kept: the name of its manifest, and what the next one is compared with. */
export interface Kept {
  readonly manifest: string;
  readonly taken: Taken;
}

/** A repository whose files are recorded by this process. */
export interface Recording {
  readonly root: string;
  readonly manifests: Manifests;
  readonly repository: Repository;
  /** Records the files as they are after this was asked; who asks at the same time gets the same. */
  take(): Promise<Kept | TooLarge>;
  /** Does work while no snapshot is taken. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

/** The reason why the files of a folder are not recorded; none where it lies in no repository. */
export interface NotRecorded {
  readonly problem?: string;
}

/** So many repositories are remembered with the state of all their files. */
const REMEMBERED = 4;

export interface Recorder {
  /** The repository around a folder. */
  open(folder: string): Promise<Recording | NotRecorded>;
  /** Does work on what is kept of a repository, whose files are all looked at anew afterwards. */
  alone(root: string, work: () => Promise<void>): Promise<void>;
}

/** The repositories whose files this process records. Nothing is written into them. */
export function createRecorder(snapshots: string): Recorder {
  const recordings = new Map<string, Recording>();
  const inTurn = createTurns();
  let git: Promise<boolean> | undefined;

  async function open(folder: string): Promise<Recording | NotRecorded> {
    const found = await findRepository(folder);
    if (!found) return {};
    if ("problem" in found) return found;
    return await inTurn(found.root, async () => {
      const known = recordings.get(found.root);
      if (known?.repository.stamp === stampOf(found)) return known;
      if (!await (git ??= hasGit())) return { problem: "there is no git on this machine" };
      const repository = await openRepository(found, snapshots);
      if ("problem" in repository) return repository;
      const recording = createRecording(repository);
      recordings.delete(found.root);
      recordings.set(found.root, recording);
      if (recordings.size > REMEMBERED) recordings.delete(recordings.keys().next().value!);
      return recording;
    });
  }

  function createRecording(repository: Repository): Recording {
    const { root } = repository;
    const manifests = createManifests(repository.manifests);
    let last: Kept | undefined;
    let next: Promise<Kept | TooLarge> | undefined;
    const alone = <T>(work: () => Promise<T>) => inTurn(`${root}\0`, work);

    async function take(): Promise<Kept | TooLarge> {
      next = undefined;
      const taken = await takeSnapshot(repository, last?.taken);
      if ("tooLarge" in taken) return taken;
      const isSame = last !== undefined && await manifests.has(last.manifest) && hasSameFiles(last.taken, taken);
      const manifest = isSame ? last!.manifest : await manifests.put(entriesOf(taken));
      return last = { manifest, taken };
    }

    return { root, manifests, repository, take: () => next ??= alone(take), alone };
  }

  return {
    open,
    alone: (root, work) => inTurn(`${root}\0`, work).finally(() => recordings.delete(root)),
  };
}

/** True if both have the same paths with the same content; files that were not read again are the same objects. */
function hasSameFiles({ files: old }: Taken, { files }: Taken): boolean {
  if (old.size !== files.size) return false;
  for (const [path, known] of files) if (old.get(path)?.entry !== known.entry) return false;
  return true;
}

function entriesOf({ files }: Taken): Entries {
  return new Map([...files].map(([path, { entry }]) => [path, entry]));
}
