import type { Database } from "../db/mod.ts";
import { createPruner, DAY_MS } from "../db/start.ts";
import { messageOf, within } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";
import { unrefTimer } from "../platform/start.ts";
import type { Query } from "./query.ts";
import type { EmbeddingsConfig, SearchStatus } from "./search_port.ts";
import { openShelf, pauseAfter, type Shelf } from "./model_index.ts";
import { createVectorStore, type Scores } from "./vector_store.ts";
import type { ToolText } from "./tool_text.ts";
import { readWorld } from "./background_corpus.ts";

export interface SemanticOptions {
  readonly database: Database;
  /** The folder for models. */
  readonly models: string;
  /** True while calls go on: texts that nobody waits for are not embedded then. */
  readonly isBusy?: () => boolean;
  /** How long after the start the world is embedded, and after a look that found calls going on. */
  readonly worldAfterMs?: readonly [first: number, again: number];
}

export type Similarity =
  | {
    readonly kind: "scores";
    readonly tools: Scores;
    /** The same for what tools of the world do. */
    readonly world: Scores;
    /** The similarity of the whole request to requests of earlier; NaN for one without a vector yet. */
    readonly earlier: Float32Array;
    /** The number of tools without a vector. */
    readonly missing: number;
  }
  | { readonly kind: "unavailable"; readonly why: string };

/** Knows what tools mean: keeps a vector for each of them and compares queries with all. */
export interface Semantic {
  configure(config: EmbeddingsConfig): void;
  /** Loads the model in the background, so that the first query need not. */
  warm(): void;
  /** Embeds what is new of some source, in the background; what the source said before is no longer wanted. */
  index(source: string, texts: readonly ToolText[]): void;
  /** Compares a query with texts; in large sets those at the places in `also` are looked at in any case. */
  similar(
    query: Query,
    texts: readonly ToolText[],
    also: readonly number[],
    earlier?: readonly ToolText[],
  ): Promise<Similarity>;
  /** The vectors of the parts of a text, each read in the light of the others; undefined without a usable model. */
  encodeParts(parts: readonly string[]): Promise<readonly (Float32Array | undefined)[] | undefined>;
  /** Resolves when nothing is left to embed; rejects with what stands in the way. */
  settled(onProgress?: (done: number, of: number) => void): Promise<void>;
  status(texts: readonly ToolText[]): SearchStatus;
  close(): Promise<void>;
}

const BATCH = 16;
/** A search waits this long for a model that is being loaded, then goes on without. */
const PATIENCE_MS = 4_000;
/** A search waits so long for the database, then goes by words. */
const DATABASE_PATIENCE_MS = 1_000;
/** The world is needed with the first search. Before that it is embedded in quiet times: it takes two seconds of a core. */
const WORLD_AFTER_MS = [8_000, 5_000] as const;
const OFF = "the configuration has `profile: minimal`";
/** No row has this id. */
const NOT_THERE = -1;

/** The state of search without a model. */
const NOTHING: SearchStatus = {
  model: "no model",
  dimension: null,
  state: "off",
  problem: null,
  indexed: 0,
  next: null,
  download: null,
};

/**
 * One loop does all the work and is the only one to change which shelf serves and which comes next; everybody else
 * says what is wanted and wakes it.
 */
export function createSemantic(options: SemanticOptions): Semantic {
  const { database, models, isBusy = () => false, worldAfterMs: [worldFirst, worldAgain] = WORLD_AFTER_MS } = options;
  const wanted = new Map<string, readonly ToolText[]>();
  const watchers = new Set<() => void>();
  let config: EmbeddingsConfig | undefined;
  const store = createVectorStore(database);
  let isReady = false;
  let world: readonly ToolText[] = [];
  let serving: Shelf | undefined;
  let next: Shelf | undefined;
  let opened = Promise.withResolvers<void>();
  let running: Promise<void> | undefined;
  let isAwaited = false;
  let isWarm = false;
  let isWorldDue = false;
  let isWorldOffered = false;
  let worldTimer: ReturnType<typeof setTimeout> | undefined;
  let lastError: unknown;
  let failures = 0;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const pruner = createPruner({ everyMs: DAY_MS, prune: () => serving!.prune([...allWanted(), ...world]) });
  let isClosed = false;
  opened.promise.catch(() => {});

  /** Each text once: tools of two servers may say the same. */
  const allWanted = () => [...new Map([...wanted.values()].flat().map((text) => [text.hash, text])).values()];
  const missingOn = (shelf: Shelf) => allWanted().filter((text) => !shelf.has(text));

  function wake(): void {
    isAwaited = true;
    if (isClosed || !config || config.isOff) return;
    running ??= loop().finally(() => running = undefined);
  }

  function wantWorld(): void {
    if (isWorldDue) return;
    isWorldDue = true;
    wake();
  }

  function offerWorldIn(ms: number): void {
    clearTimeout(worldTimer);
    worldTimer = setTimeout(() => {
      isWorldOffered = true;
      wake();
    }, ms);
    unrefTimer(worldTimer);
  }

  /** The texts of the world that are to be embedded now; the rest waits for a quiet time. */
  function worldFor(shelf: Shelf): readonly ToolText[] {
    const rest = isWorldDue || isWorldOffered ? world.filter((text) => !shelf.has(text)) : [];
    if (rest.length === 0 || isWorldDue || !isBusy()) return rest;
    offerWorldIn(worldAgain);
    return [];
  }

  async function loop(): Promise<void> {
    clearTimeout(retry);
    while (isAwaited && !isClosed) {
      isAwaited = false;
      lastError = undefined;
      try {
        await chooseShelves();
        opened.resolve();
        // What serves is kept up to date first: a large model may take its time, or never come.
        await fill(serving!);
        if (next) await fill(next).then(promote);
        if (!isClosed) await pruner.written(0);
      } catch (error) {
        lastError = error;
        if (isClosed) break;
        log("debug", "indexing_stopped", { reason: messageOf(error) });
        if (!serving) {
          opened.reject(error);
          opened = Promise.withResolvers();
          opened.promise.catch(() => {});
        }
      }
    }
    failures = lastError ? failures + 1 : 0;
    if (lastError && !isClosed) {
      retry = setTimeout(wake, pauseAfter(failures));
      unrefTimer(retry);
    }
  }

  /** Opens the shelves that the configuration asks for; the model that served last serves until another has caught up. */
  async function chooseShelves(): Promise<void> {
    const served = await store.servingModel();
    if (!isReady) {
      isReady = true;
      world = await readWorld();
      offerWorldIn(worldFirst);
    }
    const wish = config!;
    const open = (model: string) => openShelf({ ...wish, model, store, models });
    serving ??= await open(served ?? wish.model);
    // With nothing on it there is nothing to serve on with, and a hub that failed is not asked again.
    const isUseless = serving.ids.size === 0 && serving.model !== wish.model;
    const isElsewhere = serving.model === wish.model && serving.hub !== wish.hub && serving.state !== "ready";
    if (isUseless || isElsewhere) {
      serving.close();
      serving = await open(wish.model);
    }
    if (next && (next.model !== wish.model || next.hub !== wish.hub || serving.model === wish.model)) {
      next.close();
      next = undefined;
    }
    if (serving.model !== wish.model) next ??= await open(wish.model);
  }

  /** Tools first, then the world; more may be wanted by the time a batch is done. */
  async function fill(shelf: Shelf): Promise<void> {
    const isUnwanted = () => isClosed || (shelf === next && shelf.model !== config!.model);
    let added = 0;
    try {
      if (isWarm && shelf === serving) await shelf.load();
      while (!isUnwanted()) {
        const tools = missingOn(shelf);
        const batch = (tools.length ? tools : worldFor(shelf)).slice(0, BATCH);
        if (batch.length === 0) break;
        await shelf.add(batch);
        added += batch.length;
        watchers.forEach((watcher) => watcher());
      }
      if (shelf === serving && shelf.state === "ready") await store.setServingModel(shelf.model);
    } catch (error) {
      // The next model can do without the one that serves, if that one is what fails.
      if (shelf !== serving || !next || isClosed) throw error;
      lastError = error;
    }
    if (added && !isClosed) await store.takeStock(shelf.model, shelf.dimension!);
  }

  /** The next model has caught up: it serves from now on. */
  async function promote(): Promise<void> {
    const shelf = next!;
    if (isClosed || shelf.model !== config!.model || missingOn(shelf).length > 0) return;
    await store.setServingModel(shelf.model);
    serving!.close();
    [serving, next, lastError] = [shelf, undefined, undefined];
    await store.forgetOtherModels(shelf.model);
    log("info", "search_model_changed", { model: shelf.model });
  }

  async function openServing(): Promise<Shelf> {
    if (!serving) {
      wake();
      if (!isReady) await within(store.servingModel(), DATABASE_PATIENCE_MS, "the database is still being opened");
      await opened.promise;
    }
    return serving!;
  }

  async function compare(
    query: Query,
    texts: readonly ToolText[],
    also: readonly number[],
    earlier: readonly ToolText[],
  ): Promise<Similarity> {
    const shelf = await openServing();
    wantWorld();
    const { dimension } = await shelf.load();
    const { whole, steps } = await shelf.encode(query);
    const ids = [...texts, ...world, ...earlier].map(({ hash }) => shelf.ids.get(hash) ?? NOT_THERE);
    const scores = await store.score({
      model: shelf.model,
      dimension,
      ids,
      rows: shelf.ids.size,
      whole,
      steps,
      also: also.map((i) => ids[i]!),
    });
    const part = (from: number, to?: number): Scores => ({
      whole: scores.whole.subarray(from, to),
      ...scores.step && { step: scores.step.subarray(from, to) },
    });
    const missing = texts.filter((text) => !shelf.has(text)).length;
    const worldTo = texts.length + world.length;
    return {
      kind: "scores",
      tools: part(0, texts.length),
      world: part(texts.length, worldTo),
      earlier: scores.whole.subarray(worldTo),
      missing,
    };
  }

  return {
    configure(wish) {
      if (config?.model === wish.model && config.hub === wish.hub && config.isOff === wish.isOff) return;
      config = wish;
      // A download that nobody wants any more ends at once.
      if (next && next.model !== wish.model) next.close();
      if (serving || running) wake();
    },
    warm() {
      isWarm = true;
      wake();
    },
    index(source, texts) {
      wanted.set(source, texts);
      wake();
    },
    async encodeParts(parts) {
      if (config?.isOff) return undefined;
      try {
        const encoding = openServing().then((shelf) => shelf.encodeParts(parts));
        return await within(encoding, PATIENCE_MS, "the model is still being prepared");
      } catch {
        return undefined;
      }
    },
    async similar(query, texts, also, earlier = []) {
      if (config?.isOff) return { kind: "unavailable", why: OFF };
      try {
        return await within(compare(query, texts, also, earlier), PATIENCE_MS, "the model is still being prepared");
      } catch (error) {
        return { kind: "unavailable", why: messageOf(error) };
      }
    },
    async settled(onProgress) {
      if (config?.isOff) return;
      isWorldDue = true;
      const target = () => next ?? serving;
      const left = () => target() ? missingOn(target()!).length : Infinity;
      const watcher = () => onProgress?.(allWanted().length - left(), allWanted().length);
      const ticker = setInterval(watcher, 500);
      watchers.add(watcher);
      try {
        for (let before = Infinity, round = 0; round === 0 || left() < before; round++) {
          before = left();
          wake();
          await running;
          if (lastError) throw lastError;
        }
      } finally {
        clearInterval(ticker);
        watchers.delete(watcher);
      }
    },
    status(texts) {
      if (config?.isOff) return NOTHING;
      const done = next ? allWanted().length - missingOn(next).length : 0;
      return {
        model: serving?.model ?? config?.model ?? "",
        dimension: serving?.dimension ?? null,
        state: serving?.state ?? "resting",
        problem: serving?.problem ?? null,
        indexed: texts.filter(({ hash }) => serving?.ids.has(hash)).length,
        next: next ? { model: next.model, done, of: allWanted().length, problem: next.problem ?? null } : null,
        download: next?.download ?? serving?.download ?? null,
      };
    },
    async close() {
      isClosed = true;
      clearTimeout(retry);
      clearTimeout(worldTimer);
      serving?.close();
      next?.close();
      await running;
    },
  };
}
