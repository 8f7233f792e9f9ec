import type { Database } from "../db/mod.ts";
import { KEPT } from "../db/start.ts";
import { createExactScores } from "./exact_scores.ts";

/** The similarity of texts to a request, in the order of the request; NaN for a text that was not compared. */
export interface Scores {
  readonly whole: Float32Array;
  /** To the step of the request that a text is nearest to; none where the request has no steps. */
  readonly step?: Float32Array;
}

/** The vectors of tool texts, compared by pgvector or, where the database does not have it, in process. */
export interface VectorStore {
  /** Which model answers queries, from one start to the next. */
  servingModel(): Promise<string | undefined>;
  setServingModel(model: string): Promise<void>;
  /** The facts about the model that made the vectors. */
  factsOf(model: string): Promise<ModelFacts | undefined>;
  setFacts(model: string, facts: ModelFacts): Promise<void>;
  /** The row ids of everything embedded with a model, by hash. */
  idsOf(model: string): Promise<Map<string, number>>;
  save(model: string, vectors: readonly { hash: string; vector: Float32Array }[]): Promise<Map<string, number>>;
  /** Scores for `ids`. In large sets: for the nearest, for those in `also`, and for a sample that shows what is usual. */
  score(request: ScoreRequest): Promise<Scores>;
  /** Marks texts as still in use and forgets those that nobody has used for long; gives back their hashes. */
  prune(model: string, used: readonly number[]): Promise<string[]>;
  /** After many inserts: tells the database what it holds, without which it takes slower ways, and indexes a large set. */
  takeStock(model: string, dimension: number): Promise<void>;
  forget(model: string): Promise<void>;
  forgetOtherModels(model: string): Promise<void>;
}

export interface ModelFacts {
  readonly dimension: number;
  readonly fingerprint: string;
}

export interface ScoreRequest {
  readonly model: string;
  readonly dimension: number;
  readonly ids: readonly number[];
  /** The number of texts that the model has in all. */
  readonly rows: number;
  readonly whole: Float32Array;
  readonly steps: readonly Float32Array[];
  readonly also: readonly number[];
}

/** Below this a scan of everything is faster than an index, and exact. */
const EXACT_BELOW = 10_000;
const NEIGHBOURS = 300;
const SAMPLE = 1_000;
/** The most dimensions that pgvector can index. */
const MAX_INDEXED_DIMENSION = 2_000;

export function createVectorStore(db: Database, exactBelow = EXACT_BELOW): VectorStore {
  let column: Promise<Column> | undefined;
  /** The type of the column tells whether the database compares vectors. */
  const columnType = () => {
    column ??= db.query<{ type: Column }>(
      "select udt_name as type from information_schema.columns where table_name = 'tool_embedding' and column_name = 'embedding'",
    ).then(([row]) => row?.type === "vector" ? "vector" : "real[]");
    // A database that cannot be read now may be back for the next caller.
    column.catch(() => column = undefined);
    return column;
  };
  const exact = createExactScores(async (ids) => {
    const rows = await db.query<{ id: number; embedding: Float32Array }>(
      "select id, embedding from tool_embedding where id = any($1::int[])",
      [ids],
    );
    return rows.map(({ id, embedding }) => [id, embedding]);
  });
  async function scoreInProcess({ ids, whole, steps }: ScoreRequest): Promise<Scores> {
    const [first, ...rest] = await exact.score(ids, [whole, ...steps]);
    if (rest.length === 0) return { whole: first! };
    return { whole: first!, step: Float32Array.from(ids, (_, i) => Math.max(...rest.map((scores) => scores[i]!))) };
  }

  /** Asked once: whoever opens a large set anew finds its index there. */
  let reading: Promise<Set<string>> | undefined;
  const indexes = () =>
    reading ??= db.query<{ indexname: string }>(
      "select indexname from pg_indexes where tablename = 'tool_embedding' and indexdef like '%hnsw%'",
    ).then((rows) => new Set(rows.map(({ indexname }) => indexname)));

  /** The index for large sets; made once, kept up by every insert. */
  async function ensureIndex(model: string, dimension: number): Promise<void> {
    if (await columnType() !== "vector" || dimension > MAX_INDEXED_DIMENSION) return;
    const known = await indexes();
    if (known.has(indexName(model))) return;
    await db.exec(
      `create index if not exists ${indexName(model)} on tool_embedding
       using hnsw ((embedding::vector(${dimension})) vector_cosine_ops) with (m = 16, ef_construction = 64)
       where model = ${literal(model)}`,
    );
    known.add(indexName(model));
  }

  /** Scores in one array each: a row of the result per tool would cost five times as much. */
  async function scan({ whole, steps }: ScoreRequest, where: string, parameter: unknown): Promise<Scanned> {
    const similarity = (i: number) => `-(embedding <#> $${i + 2}::vector)`;
    const best = steps.map((_, i) => similarity(i + 1));
    const [row] = await db.query<Record<"ids" | "whole" | "step", ArrayLike<number> | null>>(
      `select array_agg(id) as ids, array_agg((${similarity(0)})::real) as whole,
         ${best.length ? `array_agg(greatest(${best.join(", ")})::real)` : "null"} as step
       from tool_embedding where ${where}`,
      [parameter, ...[whole, ...steps].map((vector) => vectorText(vector))],
    );
    return { ids: row?.ids ?? [], whole: row?.whole ?? [], ...best.length && { step: row?.step ?? [] } };
  }

  async function nearest({ model, dimension }: ScoreRequest, vector: Float32Array): Promise<number[]> {
    const rows = await db.transaction(async (tx) => {
      await tx.exec(`set local hnsw.ef_search = ${NEIGHBOURS}`);
      return await tx.query<{ id: number }>(
        `select id from tool_embedding where model = ${literal(model)}
         order by embedding::vector(${dimension}) <=> $1::vector(${dimension}) limit ${NEIGHBOURS}`,
        [vectorText(vector)],
      );
    });
    return rows.map(({ id }) => id);
  }

  async function candidates(request: ScoreRequest): Promise<number[]> {
    const near = await Promise.all([request.whole, ...request.steps].map((vector) => nearest(request, vector)));
    const every = Math.max(1, Math.floor(request.ids.length / SAMPLE));
    const sample = request.ids.filter((_, i) => i % every === 0);
    return [...new Set([...near.flat(), ...request.also, ...sample])];
  }

  async function forget(model: string): Promise<void> {
    await db.query("delete from tool_embedding where model = $1", [model]);
    exact.clear();
    await db.exec(`drop index if exists ${indexName(model)}`);
    (await indexes()).delete(indexName(model));
  }
  async function read<T>(key: string): Promise<T | undefined> {
    const [row] = await db.query<{ value: T }>("select value from config_metadata where key = $1", [key]);
    return row?.value;
  }
  async function write(key: string, value: Record<string, unknown>): Promise<void> {
    await db.query(
      `insert into config_metadata values ($1, $2)
       on conflict (key) do update set value = $2 where config_metadata.value <> $2`,
      [key, value],
    );
  }

  return {
    async servingModel() {
      return (await read<{ model: string }>("embeddings"))?.model;
    },
    setServingModel: (model) => write("embeddings", { model }),
    factsOf: (model) => read<ModelFacts>(`embeddings of ${model}`),
    setFacts: (model, { dimension, fingerprint }) => write(`embeddings of ${model}`, { dimension, fingerprint }),
    async idsOf(model) {
      const rows = await db.query<{ id: number; hash: string }>(
        "select id, hash from tool_embedding where model = $1",
        [model],
      );
      return new Map(rows.map(({ id, hash }) => [hash, id]));
    },
    async save(model, vectors) {
      const type = await columnType();
      const rows = await db.query<{ id: number; hash: string }>(
        `insert into tool_embedding (model, hash, embedding)
         select $1, hash, embedding::${type} from unnest($2::text[], $3::text[]) as t(hash, embedding)
         on conflict (model, hash) do update set used_on = current_date
         returning id, hash`,
        [model, vectors.map(({ hash }) => hash), vectors.map(({ vector }) => vectorText(vector, type))],
      );
      return new Map(rows.map(({ id, hash }) => [hash, id]));
    },
    async score(request) {
      if (await columnType() !== "vector") return await scoreInProcess(request);
      const { model, ids, rows } = request;
      const some = (wanted: readonly number[]) => scan(request, "id = any($1::int[])", wanted);
      const found = ids.length >= exactBelow && (await indexes()).has(indexName(model))
        ? await some(await candidates(request))
        // Reading all is faster than picking, unless most of it is of no interest.
        : rows > 2 * ids.length
        ? await some(ids)
        : await scan(request, "model = $1", model);
      // Rows come back in the order of the table.
      const at = new Map(Array.from(found.ids, (id, i) => [id, i]));
      const align = (scores: ArrayLike<number>) => Float32Array.from(ids, (id) => scores[at.get(id) ?? -1] ?? NaN);
      return { whole: align(found.whole), ...found.step && { step: align(found.step) } };
    },
    async prune(model, used) {
      await db.query(
        "update tool_embedding set used_on = current_date where used_on < current_date and id = any($1::int[])",
        [used],
      );
      // A server that changes its tools without end must not fill the disk either.
      const gone = await db.query<{ hash: string }>(
        `delete from tool_embedding where model = $1 and not id = any($3::int[]) and
           (used_on < current_date - $2::int or (select count(*) from tool_embedding) > $4)
         returning hash`,
        [model, KEPT.vectors.days, used, KEPT.vectors.rows],
      );
      if (gone.length > 0) exact.clear();
      return gone.map(({ hash }) => hash);
    },
    async takeStock(model, dimension) {
      const [row] = await db.query<{ rows: number }>(
        "select count(*)::int as rows from tool_embedding where model = $1",
        [model],
      );
      if (row!.rows >= exactBelow) await ensureIndex(model, dimension);
      await db.exec("analyze tool_embedding");
    },
    forget,
    async forgetOtherModels(model) {
      const others = await db.query<{ model: string }>("select distinct model from tool_embedding where model <> $1", [
        model,
      ]);
      for (const other of others) await forget(other.model);
    },
  };
}

/** The type of the vectors' column: pgvector's own, or plain numbers. */
type Column = "vector" | "real[]";

interface Scanned {
  readonly ids: ArrayLike<number>;
  readonly whole: ArrayLike<number>;
  readonly step?: ArrayLike<number>;
}

function vectorText(vector: Float32Array, type: Column = "vector"): string {
  return type === "vector" ? `[${vector.join()}]` : `{${vector.join()}}`;
}

/** Model names come from the configuration; in an index definition there is no place for a parameter. */
function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function indexName(model: string): string {
  return `tool_embedding_${model.toLowerCase().replace(/[^a-z0-9]+/g, "_").slice(-40)}`;
}
