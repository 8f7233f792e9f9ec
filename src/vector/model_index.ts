import { AgentCardsError, messageOf, terms } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";
import { type Embedder, startEmbedder } from "./embedder.ts";
import type { Query } from "./query.ts";
import type { DownloadProgress, EmbeddingsConfig, SearchStatus } from "./search_port.ts";
import type { VectorStore } from "./vector_store.ts";
import type { Blend, ToolText } from "./tool_text.ts";

/** A model, and every text it has embedded. */
export interface Shelf extends Omit<EmbeddingsConfig, "isOff"> {
  /** The rows of its texts, by hash. */
  readonly ids: ReadonlyMap<string, number>;
  readonly state: SearchStatus["state"];
  readonly problem: string | undefined;
  readonly dimension: number | undefined;
  readonly download: DownloadProgress | null;
  load(): Promise<Embedder>;
  /** True if a text has a vector or cannot have one. */
  has(text: ToolText): boolean;
  /** Embeds texts and keeps their vectors. */
  add(texts: readonly ToolText[]): Promise<void>;
  /** The vectors of a request; the same request costs nothing the second time. */
  encode(query: Query): Promise<EncodedQuery>;
  /** The vectors of the parts of a text, each read in the light of the others. */
  encodeParts(parts: readonly string[]): Promise<readonly (Float32Array | undefined)[]>;
  /** Forgets texts that nobody uses any more. */
  prune(used: readonly ToolText[]): Promise<void>;
  close(): void;
}

export interface EncodedQuery {
  readonly whole: Float32Array;
  /** None where the request is of one piece. */
  readonly steps: readonly Float32Array[];
}

export interface ShelfOptions extends Omit<EmbeddingsConfig, "isOff"> {
  readonly store: VectorStore;
  readonly models: string;
}

/** A model that could not be loaded is tried again after a pause that doubles with each failure. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 300_000;

export function pauseAfter(failures: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
}

const CACHED_QUERIES = 500;
/** Descriptions say what a tool does; said the same way, a request comes closer to them. */
const LEAD = "an app or tool to";
const LONG = 3;

export async function openShelf({ model, hub, store, models }: ShelfOptions): Promise<Shelf> {
  const ids = await store.idsOf(model);
  const known = await store.factsOf(model);
  const hopeless = new Set<string>();
  const queries = new Map<string, Promise<EncodedQuery>>();
  const meanings = new Map<string, Float32Array>();
  const closing = new AbortController();
  let loading: Promise<Embedder> | undefined;
  let ready: Embedder | undefined;
  let failure: { why: string; until: number } | undefined;
  let failures = 0;
  let download: DownloadProgress | null = null;

  function fail(error: unknown): void {
    loading = ready = undefined;
    queries.clear();
    meanings.clear();
    if (closing.signal.aborted) return;
    failure = { why: messageOf(error), until: performance.now() + pauseAfter(++failures) };
    log("warning", "model_not_usable", { model, reason: failure.why });
  }

  async function start(): Promise<Embedder> {
    let embedder: Embedder | undefined;
    try {
      embedder = await startEmbedder({
        model,
        hub,
        root: models,
        signal: closing.signal,
        onProgress: (progress) => download = progress,
        onDeath: fail,
      });
      const { dimension, fingerprint } = embedder;
      if (known && (known.fingerprint !== fingerprint || known.dimension !== dimension)) {
        // The same name, but other files: what they said does not compare with what these say.
        ids.clear();
        await store.forget(model);
      }
      await store.setFacts(model, { dimension, fingerprint });
      log("info", "model_loaded", { model, dimension });
      [failure, failures] = [undefined, 0];
      return ready = embedder;
    } catch (error) {
      embedder?.close();
      fail(error);
      throw error;
    } finally {
      download = null;
    }
  }

  function load(): Promise<Embedder> {
    if (closing.signal.aborted) return Promise.reject(new AgentCardsError("MODEL_UNUSABLE", "The model was unloaded"));
    const isRecent = failure !== undefined && performance.now() < failure.until;
    if (isRecent) return Promise.reject(new AgentCardsError("MODEL_UNUSABLE", failure!.why));
    return loading ??= start();
  }

  /** Restatements are few and fixed: each is encoded once. */
  async function encodeMeant(embedder: Embedder, said: string): Promise<Float32Array> {
    const vector = meanings.get(said) ?? (await embedder.encode([LEAD, said], "query")).whole;
    meanings.set(said, vector);
    return vector;
  }

  async function encodeQuery({ text, steps, restated }: Query): Promise<EncodedQuery> {
    const embedder = await load();
    const led = await embedder.encode([LEAD, ...steps], "query");
    // A request of many sentences takes long to read, and its own words outweigh the lead anyway.
    const plain = steps.length >= LONG ? led : await embedder.encode([text], "query");
    const found = led.segments.slice(1).filter((vector, i) => vector && terms(steps[i]!).length >= 2) as Float32Array[];
    const whole = mix([plain.whole, led.whole], [1, 1]);
    const own = found.length > 1 ? found : [];
    if (restated.length === 0) return { whole, steps: own };
    const meant = await Promise.all(restated.map((said) => encodeMeant(embedder, said)));
    return { whole, steps: [...own.length > 0 ? own : [whole], ...meant] };
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
      return ready?.dimension ?? known?.dimension;
    },
    get download() {
      return download;
    },
    load,
    has: ({ hash }) => ids.has(hash) || hopeless.has(hash),
    async add(texts) {
      const embedder = await load();
      const rows: { hash: string; vector: Float32Array }[] = [];
      for (const { hash, parts } of texts) {
        const vector = await embedBlend(embedder, parts).catch((error) => {
          if (ready !== embedder) throw error;
          log("warning", "text_not_embedded", { model, reason: messageOf(error) });
        });
        // A text that breaks the model must not keep all others from it.
        if (vector?.every(Number.isFinite)) rows.push({ hash, vector });
        else hopeless.add(hash);
      }
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
    encodeParts: async (parts) => (await (await load()).encode(parts, "query")).segments,
    async prune(used) {
      const gone = await store.prune(model, used.flatMap(({ hash }) => ids.get(hash) ?? []));
      for (const hash of gone) ids.delete(hash);
    },
    close: () => closing.abort(),
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
