import { isObject } from "../../model/json.ts";

/** A model on disk, laid out as the runtime expects it. */
export interface ModelFolder {
  /** The folder that holds all models, and the model's place in it. */
  readonly root: string;
  readonly name: string;
  /** Which of the runtime's file names holds the weights. */
  readonly dtype: "q8" | "fp32";
  /** How the vectors of the tokens become the vector of the text. */
  readonly pooling: "mean" | "cls";
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
  if (manifest?.recipe !== recipe) return undefined;
  for (const [file, bytes] of Object.entries(manifest.files)) {
    const info = await Deno.stat(`${root}/${name}/${file}`).catch(() => undefined);
    if (info?.size !== bytes) return undefined;
  }
  return { root, name, dtype: manifest.dtype, pooling: manifest.pooling };
}

/** Declares a folder finished. */
export async function sealModelFolder(
  folder: ModelFolder,
  options: { recipe: number; files: readonly string[]; at?: string },
): Promise<void> {
  const { at = `${folder.root}/${folder.name}`, recipe } = options;
  const sizes = options.files.map(async (file) => [file, (await Deno.stat(`${at}/${file}`)).size] as const);
  const { dtype, pooling } = folder;
  const manifest: Manifest = { recipe, dtype, pooling, files: Object.fromEntries(await Promise.all(sizes)) };
  await Deno.writeTextFile(`${at}/${MANIFEST}`, JSON.stringify(manifest, null, 2));
}

async function readManifest(path: string): Promise<Manifest | undefined> {
  try {
    const value: unknown = JSON.parse(await Deno.readTextFile(path));
    return isManifest(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isManifest(value: unknown): value is Manifest {
  return isObject(value) && typeof value.recipe === "number" && isObject(value.files) &&
    (value.dtype === "q8" || value.dtype === "fp32") && (value.pooling === "mean" || value.pooling === "cls");
}
