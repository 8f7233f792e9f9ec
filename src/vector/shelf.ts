import { AgentCardsError, messageOf } from "../model/errors.ts";
import { log } from "../telemetry/log.ts";
import { type Embedder, startEmbedder } from "./embedder.ts";
import type { Query } from "./query.ts";
import type { DownloadProgress, EmbeddingsConfig } from "./search_port.ts";
import type { VectorStore } from "./store.ts";
import type { Blend, ToolText } from "./tool_text.ts";
import { terms } from "./words.ts";

/** A model, and every text it has embedded. */
export interface Shelf extends EmbeddingsConfig {
  /** The rows of its texts, by hash. */
  readonly ids: ReadonlyMap<string, number>;
  readonly state: "resting" | "loading" | "ready" | "failed";
  readonly problem: string | undefined;
  readonly dimension: number | undefined;
  load(): Promise<Embedder>;
  /** Embeds texts and keeps their vectors. */
  add(texts: readonly ToolText[]): Promise<void>;
  /** The vectors of a request; the same request costs nothing the second time. */
  encode(query: Query): Promise<EncodedQuery>;
  close(): void;
}

export interface EncodedQuery {
  readonly whole: Float32Array;
  /** None where the request is of one piece. */
  readonly steps: readonly Float32Array[];
}

export interface ShelfOptions extends EmbeddingsConfig {
  readonly store: VectorStore;
  readonly models: string;
  /** As it was when this model served last. */
  readonly dimension?: number;
  onDownload(progress: DownloadProgress | null): void;
}

const RETRY_AFTER_MS = 300_000;
const CACHED_QUERIES = 500;
/** Descriptions say what a tool does; said the same way, a request comes closer to them. */
const LEAD = "an app or tool to";
const LONG = 3;

export async function openShelf({ model, hub, store, models, ...options }: ShelfOptions): Promise<Shelf> {
  const ids = await store.idsOf(model);
  const queries = new Map<string, Promise<EncodedQuery>>();
  let loading: Promise<Embedder> | undefined;
  let ready: Embedder | undefined;
  let failure: { why: string; at: number } | undefined;
  let isClosed = false;

  async function start(): Promise<Embedder> {
    try {
      const embedder = await startEmbedder({ model, hub, root: models, onProgress: options.onDownload });
      if (isClosed) embedder.close();
      log("info", "model loaded", { model, dimension: embedder.dimension });
      failure = undefined;
      return ready = embedder;
    } catch (error) {
      loading = undefined;
      failure = { why: messageOf(error), at: performance.now() };
      log("warning", "model not loaded", { model, reason: failure.why });
      throw error;
    } finally {
      options.onDownload(null);
    }
  }

  function load(): Promise<Embedder> {
    if (isClosed) return Promise.reject(new AgentCardsError("ENGINE_BUSY", "The engine is closing down"));
    const isRecent = failure !== undefined && performance.now() - failure.at < RETRY_AFTER_MS;
    if (isRecent) return Promise.reject(new AgentCardsError("MODEL_UNUSABLE", failure!.why));
    return loading ??= start();
  }

  async function encodeQuery({ text, steps }: Query): Promise<EncodedQuery> {
    const embedder = await load();
    const led = await embedder.encode([LEAD, ...steps], "query");
    // A request of many sentences takes long to read, and its own words outweigh the lead anyway.
    const plain = steps.length >= LONG ? led : await embedder.encode([text], "query");
    const found = led.segments.slice(1).filter((vector, i) => vector && terms(steps[i]!).length >= 2) as Float32Array[];
    return { whole: mix([plain.whole, led.whole], [1, 1]), steps: found.length > 1 ? found : [] };
  }

  return {
    model,
    hub,
    ids,
    get state() {
      return ready ? "ready" : loading ? "loading" : failure ? "failed" : "resting";
    },
    get problem() {
      return failure?.why;
    },
    get dimension() {
      return ready?.dimension ?? options.dimension;
    },
    load,
    async add(texts) {
      const embedder = await load();
      const rows: { hash: string; vector: Float32Array }[] = [];
      for (const { hash, parts } of texts) rows.push({ hash, vector: await embedBlend(embedder, parts) });
      for (const [hash, id] of await store.save(model, rows)) ids.set(hash, id);
    },
    encode(query) {
      const key = query.text;
      const encoded = queries.get(key) ?? encodeQuery(query);
      encoded.catch(() => queries.delete(key));
      // Those asked last are kept.
      queries.delete(key);
      queries.set(key, encoded);
      if (queries.size > CACHED_QUERIES) queries.delete(queries.keys().next().value!);
      return encoded;
    },
    close() {
      isClosed = true;
      ready?.close();
    },
  };
}

async function embedBlend(embedder: Embedder, blend: Blend): Promise<Float32Array> {
  const vectors: Float32Array[] = [];
  for (const { text } of blend) vectors.push((await embedder.encode([text], "index")).whole);
  return mix(vectors, blend.map(({ weight }) => weight));
}

/** The weighted mean of some vectors, of length one. */
function mix(vectors: readonly Float32Array[], weights: readonly number[]): Float32Array {
  const sum = new Float32Array(vectors[0]!.length);
  vectors.forEach((vector, i) => vector.forEach((value, j) => sum[j]! += weights[i]! * value));
  const length = Math.hypot(...sum) || 1;
  return sum.map((value) => value / length);
}
