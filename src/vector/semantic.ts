import type { Database } from "../db/database.ts";
import { AgentCardsError, messageOf } from "../model/errors.ts";
import { log } from "../telemetry/log.ts";
import type { Query } from "./query.ts";
import type { DownloadProgress, EmbeddingsConfig, SearchStatus } from "./search_port.ts";
import { openShelf, type Shelf } from "./shelf.ts";
import { createVectorStore, type Scores, type VectorStore } from "./store.ts";
import type { ToolText } from "./tool_text.ts";
import { readWorld } from "./world.ts";

export interface SemanticOptions {
  readonly database: Promise<Database | undefined>;
  /** The folder for models. */
  readonly models: string;
}

export type Similarity =
  | {
    readonly kind: "scores";
    readonly tools: Scores;
    /** The same for what tools of the world do. */
    readonly world: Scores;
    /** How many tools have no vector yet. */
    readonly missing: number;
  }
  | { readonly kind: "unavailable"; readonly why: string };

/** Knows what tools mean: keeps a vector for each of them and compares queries with all. */
export interface Semantic {
  configure(config: EmbeddingsConfig): void;
  /** Loads the model in the background, so that the first query need not. */
  warm(): void;
  /** Embeds what is new, in the background. */
  index(texts: readonly ToolText[]): void;
  /** Compares a query with texts; in large sets those at the places in `also` are looked at in any case. */
  similar(query: Query, texts: readonly ToolText[], also: readonly number[]): Promise<Similarity>;
  /** Resolves when nothing is left to embed; rejects with what stands in the way. */
  settled(onProgress?: (done: number, of: number) => void): Promise<void>;
  status(texts: readonly ToolText[]): SearchStatus;
  close(): Promise<void>;
}

const BATCH = 16;
/** A search waits this long for a model that is being loaded, then goes on without. */
const PATIENCE_MS = 4_000;
/** A server that changes its tools without end must not fill the memory. */
const MAX_WANTED = 50_000;

export function createSemantic({ database, models }: SemanticOptions): Semantic {
  const wanted = new Map<string, ToolText>();
  const watchers = new Set<() => void>();
  let config: EmbeddingsConfig | undefined;
  let opening: Promise<void> | undefined;
  let working: Promise<void> | undefined;
  let store: VectorStore | undefined;
  let world: readonly ToolText[] = [];
  let serving: Shelf | undefined;
  let next: Shelf | undefined;
  let download: DownloadProgress | null = null;
  let isClosed = false;
  let isPruned = false;

  const tell = () => watchers.forEach((watcher) => watcher());
  const doneOn = (shelf: Shelf) => wanted.keys().reduce((count, hash) => count + Number(shelf.ids.has(hash)), 0);
  const shelfFor = (wish: EmbeddingsConfig, dimension?: number) =>
    openShelf({
      ...wish,
      store: store!,
      models,
      ...dimension && { dimension },
      onDownload(progress) {
        download = progress;
        tell();
      },
    });

  /** Opens the index; the model that served last serves on until another one has caught up. */
  function open(): Promise<void> {
    return opening ??= (async () => {
      const db = await database;
      if (!db || !config) throw new AgentCardsError("DB_UNUSABLE", "the database is not usable");
      store = createVectorStore(db);
      world = await readWorld();
      const last = await store.servingModel();
      serving = await shelfFor({ ...config, model: last?.model ?? config.model }, last?.dimension);
      // With nothing on it there is nothing to serve on with.
      if (serving.ids.size === 0 && serving.model !== config.model) serving = await shelfFor(config);
      if (serving.model !== config.model) next = await shelfFor(config);
    })();
  }

  function work(): void {
    if (isClosed || !config) return;
    working ??= embedAll()
      .catch((error) => log("debug", "indexing stopped", { reason: messageOf(error) }))
      .finally(() => working = undefined);
  }

  async function embedAll(): Promise<void> {
    await open();
    // What serves is kept up to date first: a large model may take its time, or never come.
    await embedMissing(serving!);
    if (next) await embedMissing(next).then(promote).catch(() => {});
    if (!isPruned) {
      isPruned = true;
      const used = [...wanted.values(), ...world].flatMap(({ hash }) => serving!.ids.get(hash) ?? []);
      await store!.prune(serving!.model, used);
    }
  }

  /** Tools first, then the world; more may be wanted by the time a batch is done. */
  async function embedMissing(shelf: Shelf): Promise<void> {
    const isInUse = () => !isClosed && (shelf === serving || shelf === next);
    const isMissing = ({ hash }: ToolText) => !shelf.ids.has(hash);
    let added = 0;
    while (isInUse()) {
      const tools = [...wanted.values()].filter(isMissing);
      const batch = (tools.length ? tools : world.filter(isMissing)).slice(0, BATCH);
      if (batch.length === 0) break;
      await shelf.add(batch);
      added += batch.length;
      tell();
    }
    if (added && !isClosed) await store!.takeStock();
    if (shelf === serving && shelf.dimension) await remember(shelf.model, shelf.dimension);
  }

  let remembered: string | undefined;
  async function remember(model: string, dimension: number): Promise<void> {
    if (model !== remembered) await store!.setServingModel({ model, dimension });
    remembered = model;
  }

  /** The next model has caught up: it serves from now on. */
  async function promote(): Promise<void> {
    if (!next || isClosed) return;
    const [old, caughtUp] = [serving, next];
    await remember(caughtUp.model, (await caughtUp.load()).dimension);
    [serving, next] = [caughtUp, undefined];
    old?.close();
    await store!.forgetOtherModels(caughtUp.model);
    log("info", "search model changed", { model: caughtUp.model });
  }

  async function compare(query: Query, texts: readonly ToolText[], also: readonly number[]): Promise<Similarity> {
    await open();
    const shelf = serving!;
    const [{ dimension }, { whole, steps }] = [await shelf.load(), await shelf.encode(query)];
    const ids = [...texts, ...world].map(({ hash }) => shelf.ids.get(hash) ?? NOT_THERE);
    const scores = await store!.score({
      model: shelf.model,
      dimension,
      ids,
      whole,
      steps,
      also: also.map((i) => ids[i]!),
    });
    const part = (from: number, to?: number): Scores => ({
      whole: scores.whole.subarray(from, to),
      ...scores.step && { step: scores.step.subarray(from, to) },
    });
    const missing = ids.slice(0, texts.length).filter((id) => id === NOT_THERE).length;
    return { kind: "scores", tools: part(0, texts.length), world: part(texts.length), missing };
  }

  async function change(wish: EmbeddingsConfig): Promise<void> {
    await opening;
    next?.close();
    next = serving?.model === wish.model ? undefined : await shelfFor(wish);
    await working;
    work();
  }

  return {
    configure(wish) {
      const previous = config;
      config = wish;
      if (!opening || (previous?.model === wish.model && previous.hub === wish.hub)) return;
      change(wish).catch((error) => log("debug", "model not changed", { reason: messageOf(error) }));
    },
    warm() {
      if (!isClosed && config) open().then(() => serving!.load()).catch(() => {});
    },
    index(texts) {
      for (const text of texts) wanted.set(text.hash, text);
      for (const hash of wanted.keys()) {
        if (wanted.size <= MAX_WANTED) break;
        wanted.delete(hash);
      }
      work();
    },
    async similar(query, texts, also) {
      try {
        return await within(compare(query, texts, also), PATIENCE_MS);
      } catch (error) {
        return { kind: "unavailable", why: messageOf(error) };
      }
    },
    async settled(onProgress) {
      await open();
      const target = next ?? serving!;
      const watcher = () => onProgress?.(doneOn(target), wanted.size);
      watchers.add(watcher);
      try {
        do {
          work();
          await working;
        } while (!isClosed && target.problem === undefined && doneOn(target) < wanted.size);
      } finally {
        watchers.delete(watcher);
      }
      if (target.problem !== undefined) throw new AgentCardsError("MODEL_UNUSABLE", target.problem);
    },
    status: (texts) => ({
      model: serving?.model ?? config?.model ?? "",
      dimension: serving?.dimension ?? null,
      state: serving?.state ?? "resting",
      problem: serving?.problem ?? null,
      indexed: texts.filter(({ hash }) => serving?.ids.has(hash)).length,
      next: next && { model: next.model, done: doneOn(next), of: wanted.size, problem: next.problem ?? null } || null,
      download,
    }),
    async close() {
      isClosed = true;
      serving?.close();
      next?.close();
      await working;
    },
  };
}

/** No row has this id. */
const NOT_THERE = -1;

async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("the model is still being prepared")), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
