import type { ModelFolder } from "./weights/folder.ts";

/** The vectors of a text and of its segments, each of length one. */
export interface Encoded {
  readonly whole: Float32Array;
  /** One per segment; none for a segment that lies beyond what the model reads. */
  readonly segments: readonly (Float32Array | undefined)[];
}

/** Reads segments as one text. */
export type Encoder = (segments: readonly string[]) => Promise<Encoded>;

/** Models that name no limit of their own. */
const MAX_TOKENS = 512;

/** Loads a model. Everything the runtime would fetch is on disk, and it may not fetch. */
export async function createEncoder(folder: ModelFolder, threads: number): Promise<Encoder> {
  // The runtime takes a Worker for a browser tab as long as there is a location; it is loaded after that is gone.
  delete (globalThis as { location?: unknown }).location;
  const { AutoModel, AutoTokenizer, env, Tensor } = await import("@huggingface/transformers");
  Object.assign(env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: `${folder.root}/` });
  const tokenizer = await AutoTokenizer.from_pretrained(folder.name);
  const model = await AutoModel.from_pretrained(folder.name, {
    dtype: folder.dtype,
    session_options: { intraOpNumThreads: threads, interOpNumThreads: 1 },
  });
  const tokenise = (text: string): number[] => tokenizer.encode(text, { add_special_tokens: false });
  const special: number[] = tokenizer.encode("");
  const [before, after] = [special.slice(0, -1), special.slice(-1)];
  const limit = Math.min(Number(tokenizer.model_max_length) || MAX_TOKENS, MAX_TOKENS);

  /** One pass over all tokens: a segment's vector knows what the others say. */
  async function run(ids: readonly number[]): Promise<{ states: Float32Array; width: number }> {
    const tensor = (values: readonly number[]) =>
      new Tensor("int64", BigInt64Array.from(values, BigInt), [1, values.length]);
    const output = await model({ input_ids: tensor(ids), attention_mask: tensor(ids.map(() => 1)) });
    const states = (output.last_hidden_state ?? output.token_embeddings).data as Float32Array;
    return { states, width: states.length / ids.length };
  }

  return async (segments) => {
    const ids = [...before];
    const spans = segments.map((segment) => {
      const from = ids.length;
      for (const id of tokenise(segment)) ids.push(id);
      return { from, to: ids.length };
    });
    const end = Math.min(ids.length, limit - after.length);
    const { states, width } = await run([...ids.slice(0, end), ...after]);
    const mean = (from: number, to: number) => meanOf(states.subarray(from * width, to * width), width);
    const isByFirst = folder.pooling === "cls";
    return {
      whole: isByFirst ? mean(0, 1) : mean(0, end + after.length),
      // A model that speaks for the text through its first token has nothing to say of segments.
      segments: spans.map(({ from, to }) => isByFirst || to > end || from === to ? undefined : mean(from, to)),
    };
  };
}

function meanOf(states: Float32Array, width: number): Float32Array {
  const sum = new Float32Array(width);
  for (let i = 0; i < states.length; i++) sum[i % width]! += states[i]!;
  const length = Math.hypot(...sum) || 1;
  return sum.map((value) => value / length);
}
