import { installation } from "../platform/start.ts";
import { AgentCardsError } from "../model/mod.ts";
import type { EmbedReply, EmbedRequest, LoadRequest } from "./embed_worker.ts";
import type { Encoded } from "./encoder.ts";
import type { DownloadProgress } from "./search_port.ts";

/** Turns texts into vectors, one at a time. */
export interface Embedder {
  readonly model: string;
  readonly dimension: number;
  /** Which files made it: another fingerprint, other vectors. */
  readonly fingerprint: string;
  /** Segments are read as one text. A query goes before all indexing that waits. */
  encode(segments: readonly string[], priority: "query" | "index"): Promise<Encoded>;
  close(): void;
}

export interface EmbedderOptions extends Omit<LoadRequest, "threads"> {
  readonly onProgress?: (progress: DownloadProgress) => void;
  /** Ends it, also while it is still being prepared. */
  readonly signal?: AbortSignal;
  /** Told when it fails after it was ready. */
  readonly onDeath?: (error: Error) => void;
}

interface Job {
  readonly segments: readonly string[];
  readonly done: PromiseWithResolvers<Encoded>;
}

/** Half the machine at most: those who wait for calls need the rest. */
const THREADS = Math.max(1, Math.min(4, Math.floor(navigator.hardwareConcurrency / 2)));

/** Loads a model in a Worker of its own. */
export async function startEmbedder(options: EmbedderOptions): Promise<Embedder> {
  const { onProgress, signal, onDeath, ...request } = options;
  await installation.unchanged();
  const worker = new Worker(new URL("./embed_worker.ts", import.meta.url), { type: "module", name: "embedder" });
  const loading = Promise.withResolvers<Pick<Embedder, "dimension" | "fingerprint">>();
  const queues = { query: [] as Job[], index: [] as Job[] };
  let current: Job | undefined;
  let dead: Error | undefined;

  const post = (message: EmbedRequest) => worker.postMessage(message);
  function next(): void {
    if (current) return;
    current = queues.query.shift() ?? queues.index.shift();
    if (current) post({ segments: current.segments });
  }
  function die(error: Error): void {
    if (dead) return;
    dead = error;
    worker.terminate();
    loading.reject(dead);
    for (const job of [...current ? [current] : [], ...queues.query, ...queues.index]) job.done.reject(dead);
    current = undefined;
    queues.query.length = queues.index.length = 0;
    signal?.removeEventListener("abort", close);
    onDeath?.(dead);
  }
  const close = () => die(new AgentCardsError("MODEL_UNUSABLE", "The model was unloaded"));
  signal?.addEventListener("abort", close);
  const take = (reply: EmbedReply) => {
    if ("progress" in reply) return onProgress?.(reply.progress);
    if ("ready" in reply) return loading.resolve(reply.ready);
    if ("failed" in reply) return die(new AgentCardsError("MODEL_UNUSABLE", reply.failed));
    const job = current;
    current = undefined;
    if ("encoded" in reply) job?.done.resolve(reply.encoded);
    else job?.done.reject(new Error(reply.error));
    next();
  };
  worker.onmessage = ({ data }: MessageEvent<EmbedReply>) => take(data);
  worker.onerror = (event) => {
    event.preventDefault();
    die(new AgentCardsError("MODEL_UNUSABLE", `The model's runtime failed: ${event.message}`));
  };

  post({ load: { ...request, threads: THREADS } });
  const ready = await loading.promise;
  return {
    model: request.model,
    ...ready,
    encode(segments, priority) {
      if (dead) return Promise.reject(dead);
      const job: Job = { segments, done: Promise.withResolvers() };
      queues[priority].push(job);
      next();
      return job.done.promise;
    },
    close,
  };
}
