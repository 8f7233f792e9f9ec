/** A row id with its vector. */
export type StoredVector = readonly [id: number, vector: Float32Array];

/** Vectors in memory, for a database that cannot compare them: read once, compared here. */
export interface ExactScores {
  /** The inner products of one vector with those of `ids`, in their order; NaN where there is no such row. */
  score(ids: readonly number[], vectors: readonly Float32Array[]): Promise<Float32Array[]>;
  /** Rows were removed: what is in memory is read anew. */
  clear(): void;
}

const READ_AT_ONCE = 1_000;

/** `read` gives the vectors of some rows, in any order. */
export function createExactScores(read: (ids: readonly number[]) => Promise<readonly StoredVector[]>): ExactScores {
  const known = new Map<number, Float32Array>();

  async function load(ids: readonly number[]): Promise<void> {
    const missing = [...new Set(ids)].filter((id) => id >= 0 && !known.has(id));
    for (let i = 0; i < missing.length; i += READ_AT_ONCE) {
      for (const [id, vector] of await read(missing.slice(i, i + READ_AT_ONCE))) known.set(id, vector);
    }
  }

  return {
    async score(ids, vectors) {
      await load(ids);
      return vectors.map((vector) =>
        Float32Array.from(ids, (id) => {
          const row = known.get(id);
          return row ? dot(row, vector) : NaN;
        })
      );
    },
    clear: () => known.clear(),
  };
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
