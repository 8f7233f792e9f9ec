import { isObject, sha256 } from "../model/mod.ts";
import { exactStats } from "../platform/mod.ts";
import { fs } from "../platform/start.ts";
import { join } from "node:path";
import { createManifests } from "./manifest.ts";
import { readRows } from "./record_file.ts";

/** A younger file may belong to work that is under way. */
const YOUNG_MS = 3_600_000;

interface PruneOptions {
  readonly folder: string;
  /** The runs among these that still are in the journal. */
  known(runs: readonly string[]): Promise<ReadonlySet<string>>;
  /** Does work on a repository while nothing is recorded of it, and has all of it read anew afterwards. */
  alone(root: string, work: () => Promise<void>): Promise<void>;
}

/** Removes what is recorded of runs that are gone, with the lists and contents that nothing needs any more. */
export async function pruneSnapshots({ folder, known, alone }: PruneOptions): Promise<number> {
  const gone = await goneOf(join(folder, "runs"), known);
  for (const run of gone) {
    for (const name of [`runs/${run}.jsonl`, `undos/${run}.json`, `undos/${run}.json.last`]) {
      await fs.remove(join(folder, name)).catch(() => {});
    }
  }
  if (gone.length > 0) await pruneRepositories(folder, alone);
  return gone.length;
}

/** Removes the lists and contents of repositories, or of one, that no record names any more. */
export async function pruneRepositories(folder: string, alone: PruneOptions["alone"], only?: string): Promise<void> {
  for (const name of await namesIn(join(folder, "repositories"))) {
    const repository = join(folder, "repositories", name);
    const root = await fs.readTextFile(join(repository, "root")).catch(() => undefined);
    if (root === undefined || only !== undefined && root !== only) continue;
    await alone(root, () => pruneRepository(folder, repository));
  }
}

async function goneOf(runs: string, known: PruneOptions["known"]): Promise<string[]> {
  const ids = (await namesIn(runs)).filter((name) => name.endsWith(".jsonl") && isOld(join(runs, name)))
    .map((name) => name.slice(0, -".jsonl".length));
  const kept = ids.length > 0 ? await known(ids) : new Set();
  return ids.filter((id) => !kept.has(id));
}

async function pruneRepository(folder: string, repository: string): Promise<void> {
  const manifests = createManifests(join(repository, "manifests"));
  const needed = new Set<string>();
  for (const kind of ["runs", "prompts"]) {
    for (const name of await namesIn(join(folder, kind))) {
      const rows = await readRows(join(folder, kind, name));
      const [first] = rows;
      if (first?.kind !== "begun" || !repository.endsWith((await sha256(first.root)).slice(0, 16))) continue;
      for (const row of rows) if ("manifest" in row) needed.add(row.manifest);
    }
  }
  const blobs = await blobsOfUndos(join(folder, "undos"));
  for (const id of [...needed]) {
    for (const name of await manifests.needs(id).catch(() => [])) needed.add(name);
  }
  for (const name of await namesIn(join(repository, "manifests"))) {
    const id = name.replace(/\.json$/, "");
    const path = join(repository, "manifests", name);
    if (needed.has(id) || !isOld(path)) {
      for (const blob of await manifests.blobs(id).catch(() => [])) blobs.add(blob);
    } else await fs.remove(path).catch(() => {});
  }
  for (const start of await namesIn(join(repository, "objects"))) {
    if (!/^[0-9a-f]{2}$/.test(start)) continue;
    for (const rest of await namesIn(join(repository, "objects", start))) {
      const path = join(repository, "objects", start, rest);
      if (!blobs.has(start + rest) && isOld(path)) await fs.remove(path).catch(() => {});
    }
  }
}

/** The contents by which an undo that was begun can be finished or taken back. */
async function blobsOfUndos(undos: string): Promise<Set<string>> {
  const blobs = new Set<string>();
  const collect = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(collect);
    else if (isObject(value)) Object.values(value).forEach(collect);
    else if (typeof value === "string" && /^[0-9a-f]{40,64}$/.test(value)) blobs.add(value);
  };
  for (const name of await namesIn(undos)) {
    const text = await fs.readTextFile(join(undos, name)).catch(() => "null");
    try {
      collect(JSON.parse(text));
    } catch {
      // Half of a file names nothing that can be relied on.
    }
  }
  return blobs;
}

function isOld(path: string): boolean {
  const changed = exactStats().look(path)?.modified ?? Infinity;
  return changed / 1e6 < Date.now() - YOUNG_MS;
}

async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of fs.readDir(folder)) names.push(name);
  } catch (error) {
    if (!fs.isNotFound(error)) throw error;
  }
  return names;
}
