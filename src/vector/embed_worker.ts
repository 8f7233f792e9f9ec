// Runs the sentence encoder off the main thread: loading takes a third of a second, every text some milliseconds.
import { describe } from "../model/mod.ts";
import { createEncoder, type Encoded, type Encoder } from "./encoder.ts";
import type { DownloadProgress } from "./search_port.ts";
import { prepareModel } from "./weights/prepare.ts";

export interface LoadRequest {
  readonly model: string;
  readonly root: string;
  readonly hub: string;
  readonly threads: number;
}

export type EmbedRequest = { readonly load: LoadRequest } | { readonly segments: readonly string[] };

export type EmbedReply =
  | { readonly progress: DownloadProgress }
  | { readonly ready: { readonly dimension: number; readonly fingerprint: string } }
  | { readonly failed: string }
  | { readonly encoded: Encoded }
  | { readonly error: string };

const port = self as unknown as {
  onmessage: (event: MessageEvent<EmbedRequest>) => void;
  postMessage(reply: EmbedReply): void;
};

let encoder: Encoder | undefined;

async function answer(request: EmbedRequest): Promise<EmbedReply> {
  if ("load" in request) {
    const { threads, ...options } = request.load;
    const folder = await prepareModel({ ...options, onProgress: (progress) => port.postMessage({ progress }) });
    encoder = await createEncoder(folder, threads);
    const { whole } = await encoder(["warm up"]);
    return { ready: { dimension: whole.length, fingerprint: folder.fingerprint } };
  }
  if (!encoder) throw new TypeError("The model is not loaded");
  return { encoded: await encoder(request.segments) };
}

port.onmessage = async ({ data }) => {
  try {
    port.postMessage(await answer(data));
  } catch (error) {
    port.postMessage("load" in data ? { failed: describe(error) } : { error: describe(error) });
  }
};
