import { AgentCardsError, isObject, messageOf } from "../../model/mod.ts";
import { fs, SEEK_START } from "../../platform/start.ts";
import { untraced } from "../../telemetry/mod.ts";
import { createHash } from "node:crypto";
import type { DownloadProgress } from "../search_port.ts";
import { type ModelFolder, openModelFolder, removeBrokenFiles, sealModelFolder } from "./folder.ts";

export interface HubOptions {
  /** The model's name there, such as `BAAI/bge-large-en-v1.5`. */
  readonly model: string;
  /** The folder for all models. */
  readonly root: string;
  readonly hub: string;
  readonly onProgress: (progress: DownloadProgress) => void;
  /** The time after which a silent hub is given up. */
  readonly silenceMs?: number;
}

const RECIPE = 1;
const ATTEMPTS = 4;
const MAX_HOPS = 5;
const SILENCE_MS = 30_000;
const REPORT_EVERY_MS = 200;
const SETTINGS = ["config.json", "tokenizer.json", "tokenizer_config.json"];
const POOLING = "1_Pooling/config.json";
/** The files to fetch, the first that the hub has: 8-bit weights are enough for ranking. */
const WEIGHTS = [
  { file: "onnx/model_quantized.onnx", dtype: "q8" },
  { file: "onnx/model.onnx", dtype: "fp32" },
] as const;
/** Weights above two gigabytes lie beside their graph. */
const EXTERNAL = "onnx/model.onnx_data";

/** A model of the hub, ready to load. A download that was cut off goes on where it stopped. */
export async function prepareHubModel(options: HubOptions): Promise<ModelFolder> {
  const { model, root } = options;
  const found = await openModelFolder(root, model, RECIPE);
  if (found) return found;
  await removeBrokenFiles(root, model);
  for (const sub of ["onnx", "1_Pooling"]) {
    await fs.mkdir(`${root}/${model}/${sub}`, { recursive: true, mode: 0o700 });
  }
  const files = await ownFiles(options) ?? await fetchFiles(options);
  const { dtype } = WEIGHTS.find(({ file }) => files.includes(file))!;
  const pooling = files.includes(POOLING) ? await readPooling(`${root}/${model}/${POOLING}`) : "mean";
  return await sealModelFolder({ root, name: model, recipe: RECIPE, dtype, pooling, files });
}

/** The files that were put there by hand, if they are complete: then no hub is asked. */
async function ownFiles({ root, model }: HubOptions): Promise<string[] | undefined> {
  const isThere = (file: string) => fs.stat(`${root}/${model}/${file}`).then(() => true, () => false);
  const weights = await Array.fromAsync(WEIGHTS, async ({ file }) => await isThere(file) ? [file] : []);
  const settings = await Array.fromAsync(SETTINGS, isThere);
  const [first] = weights.flat();
  if (first === undefined || settings.includes(false)) return undefined;
  const optional = await Array.fromAsync([POOLING, EXTERNAL], async (file) => await isThere(file) ? [file] : []);
  return [...SETTINGS, first, ...optional.flat()];
}

async function fetchFiles(options: HubOptions): Promise<string[]> {
  for (const file of SETTINGS) {
    if (!await obtain(file, options)) {
      throw unusable(options, `it has no ${file}`, "Choose a feature-extraction model with an ONNX export.");
    }
  }
  const files = [...SETTINGS, ...await obtain(POOLING, options) ? [POOLING] : []];
  for (const { file, dtype } of WEIGHTS) {
    // Before its graph: a graph that is there counts as all that is needed.
    const beside = dtype === "fp32" && await obtain(EXTERNAL, options) ? [EXTERNAL] : [];
    if (await obtain(file, options)) return [...files, file, ...beside];
  }
  throw unusable(options, "it has no ONNX weights", "Choose a feature-extraction model with an ONNX export.");
}

async function readPooling(path: string): Promise<ModelFolder["pooling"]> {
  const value: unknown = JSON.parse(await fs.readTextFile(path));
  return isObject(value) && value.pooling_mode_cls_token === true ? "cls" : "mean";
}

function unusable({ model, hub, root }: HubOptions, why: string, hint?: string): AgentCardsError {
  return new AgentCardsError("MODEL_UNUSABLE", `Cannot get the model ${model} from ${hub}: ${why}`, {
    hint: hint ??
      `Check the connection; what has arrived is kept. Or put the model's files into ${root}/${model} yourself, name a ` +
        "mirror as embeddings.hub, or remove embeddings.model from the configuration.",
  });
}

/** Sees that a file is there; false when the hub does not have it. */
async function obtain(file: string, options: HubOptions): Promise<boolean> {
  const path = `${options.root}/${options.model}/${file}`;
  if (await fs.stat(path).catch(() => undefined)) return true;
  for (let attempt = 1;; attempt++) {
    try {
      return await download(file, path, options);
    } catch (error) {
      if (error instanceof AgentCardsError) throw error;
      if (attempt === ATTEMPTS) throw unusable(options, messageOf(error));
      await new Promise((resolve) => setTimeout(resolve, 250 * 2 ** attempt));
    }
  }
}

async function download(file: string, path: string, options: HubOptions): Promise<boolean> {
  const part = `${path}.part`;
  const mark = `${path}.part.etag`;
  const have = (await fs.stat(part).catch(() => undefined))?.size ?? 0;
  const etag = await fs.readTextFile(mark).catch(() => "");
  const stall = stallTimer(options.silenceMs ?? SILENCE_MS);
  try {
    const { response, hash } = await follow(`${options.hub}/${options.model}/resolve/main/${file}`, {
      signal: stall.signal,
      // Only the same version may be continued; of any other the hub sends all.
      ...have && etag ? { headers: { range: `bytes=${have}-`, "if-range": etag } } : {},
    });
    if (response.status !== 200 && response.status !== 206) {
      await response.body?.cancel();
      if (response.status === 404) return false;
      if (response.status === 416) await fs.remove(part).catch(() => {});
      if (response.status === 401 || response.status === 403) {
        throw unusable(options, `it is not there for everyone (status ${response.status})`, "Check the model's name.");
      }
      throw new Error(`the hub answered with status ${response.status}`);
    }
    const start = response.status === 206 ? have : 0;
    await fs.writeTextFile(mark, response.headers.get("etag") ?? "");
    const length = Number(response.headers.get("content-length") ?? NaN);
    const of = Number.isFinite(length) ? start + length : undefined;
    const bytes = await receive(response, { part, start, stall, report: progressOf(file, of, options) });
    if (of !== undefined && bytes !== of) throw new Error(`${file} ended after ${bytes} of ${of} bytes`);
    if (hash) await checkHash(part, hash, file);
    await fs.rename(part, path);
    await fs.remove(mark).catch(() => {});
    return true;
  } finally {
    stall.stop();
  }
}

interface Receiving {
  readonly part: string;
  readonly start: number;
  readonly stall: StallTimer;
  readonly report: (bytes: number) => void;
}

async function receive(response: Response, { part, start, stall, report }: Receiving): Promise<number> {
  using file = await fs.open(part, { write: true, create: true, truncate: start === 0 });
  await file.seek(start, SEEK_START);
  let bytes = start;
  for await (const chunk of response.body ?? []) {
    stall.reset();
    for (let at = 0; at < chunk.length;) at += await file.write(chunk.subarray(at));
    bytes += chunk.length;
    report(bytes);
  }
  return bytes;
}

/** The hub sends on to where it keeps large files; it names their SHA-256 itself, before that. */
async function follow(url: string, init: RequestInit): Promise<{ response: Response; hash?: string }> {
  let hash: string | undefined;
  for (let hops = 0;; hops++) {
    const response = await untraced(() => fetch(url, { ...init, redirect: "manual" }));
    hash ??= /^"?([0-9a-f]{64})"?$/.exec(response.headers.get("x-linked-etag") ?? "")?.[1];
    const next = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    if (next === null) return { response, ...hash && { hash } };
    await response.body?.cancel();
    if (hops === MAX_HOPS) throw new Error("the hub sends from one place to the next");
    url = new URL(next, url).href;
  }
}

async function checkHash(path: string, expected: string, file: string): Promise<void> {
  const hash = createHash("sha256");
  const handle = await fs.open(path);
  // Reading to the end closes it.
  for await (const chunk of handle.readable) hash.update(chunk);
  if (hash.digest("hex") === expected) return;
  await fs.remove(path);
  throw new Error(`${file} did not arrive whole`);
}

function progressOf(file: string, of: number | undefined, options: HubOptions): (bytes: number) => void {
  let last = -Infinity;
  return (bytes) => {
    if (performance.now() - last < REPORT_EVERY_MS && bytes !== of) return;
    last = performance.now();
    options.onProgress({ file, bytes, ...of !== undefined && { of } });
  };
}

interface StallTimer {
  readonly signal: AbortSignal;
  reset(): void;
  stop(): void;
}

/** Gives up on a hub that says nothing for a while; however long a large file takes is its own affair. */
function stallTimer(ms: number): StallTimer {
  const controller = new AbortController();
  const expire = () => controller.abort(new Error(`no data for ${ms / 1000} s`));
  let timer = setTimeout(expire, ms);
  return {
    signal: controller.signal,
    reset() {
      clearTimeout(timer);
      timer = setTimeout(expire, ms);
    },
    stop: () => clearTimeout(timer),
  };
}
