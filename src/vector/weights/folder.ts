import { canonicalJson, isObject, sha256 } from "../../model/mod.ts";
import { syncTree } from "../../platform/mod.ts";
import { fs } from "../../platform/start.ts";

/** A model on disk, laid out as the runtime expects it. */
export interface ModelFolder {
  /** The folder that holds all models, and the model's place in it. */
  readonly root: string;
  readonly name: string;
  /** Which of the runtime's file names holds the weights. */
  readonly dtype: "q8" | "fp32";
  /** The pooling: how the vectors of the tokens become the vector of the text. */
  readonly pooling: "mean" | "cls";
  /** Another one means other files, and with them other vectors. */
  readonly fingerprint: string;
}

/** Written last: a folder without it, or with files of other sizes, is not finished. */
const MANIFEST = "agentcards.json";

interface Manifest {
  readonly recipe: number;
  readonly dtype: ModelFolder["dtype"];
  readonly pooling: ModelFolder["pooling"];
  readonly files: Readonly<Record<string, number>>;
}

/** The finished model in a folder, if it is there, whole, and made by the same recipe. */
export async function openModelFolder(root: string, name: string, recipe: number): Promise<ModelFolder | undefined> {
  const manifest = await readManifest(`${root}/${name}/${MANIFEST}`);
  if (manifest?.recipe !== recipe || (await brokenFiles(`${root}/${name}`, manifest)).length > 0) return undefined;
  return await describeFolder(root, name, manifest);
}

/** Removes what is not what it was when the folder was finished, so that it is made or fetched again. */
export async function removeBrokenFiles(root: string, name: string): Promise<void> {
  const manifest = await readManifest(`${root}/${name}/${MANIFEST}`);
  for (const file of manifest ? await brokenFiles(`${root}/${name}`, manifest) : []) {
    await fs.remove(`${root}/${name}/${file}`).catch(() => {});
  }
}

async function brokenFiles(folder: string, { files }: Manifest): Promise<string[]> {
  const broken: string[] = [];
  for (const [file, bytes] of Object.entries(files)) {
    const info = await fs.stat(`${folder}/${file}`).catch(() => undefined);
    if (info?.size !== bytes) broken.push(file);
  }
  return broken;
}

export interface SealOptions extends Pick<Manifest, "recipe" | "dtype" | "pooling"> {
  readonly root: string;
  readonly name: string;
  readonly files: readonly string[];
  /** The present folder of the files, if they are moved later. */
  readonly at?: string;
}

/** Declares a folder finished. */
export async function sealModelFolder(options: SealOptions): Promise<ModelFolder> {
  const { root, name, at = `${root}/${name}`, recipe, dtype, pooling } = options;
  const sizes = options.files.map(async (file) => [file, (await fs.stat(`${at}/${file}`)).size] as const);
  const manifest: Manifest = { recipe, dtype, pooling, files: Object.fromEntries(await Promise.all(sizes)) };
  await fs.writeTextFile(`${at}/${MANIFEST}`, JSON.stringify(manifest, null, 2));
  await syncTree(at);
  return await describeFolder(root, name, manifest);
}

async function describeFolder(root: string, name: string, manifest: Manifest): Promise<ModelFolder> {
  const { dtype, pooling } = manifest;
  return { root, name, dtype, pooling, fingerprint: await sha256(canonicalJson(manifest)) };
}

async function readManifest(path: string): Promise<Manifest | undefined> {
  try {
    const value: unknown = JSON.parse(await fs.readTextFile(path));
    return isManifest(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isManifest(value: unknown): value is Manifest {
  return isObject(value) && typeof value.recipe === "number" && isObject(value.files) &&
    (value.dtype === "q8" || value.dtype === "fp32") && (value.pooling === "mean" || value.pooling === "cls");
}
