import assert from "node:assert/strict";
import { AgentCardsError } from "../../src/model/errors.ts";
import { type BertConfig, buildBert, quantiseRows } from "../../src/vector/weights/bert.ts";
import { openModelFolder } from "../../src/vector/weights/folder.ts";
import { MINILM, miniLmPackage, prepareMiniLm } from "../../src/vector/weights/minilm.ts";
import { readSafetensors, type Tensor } from "../../src/vector/weights/safetensors.ts";

const weights = readSafetensors(await Deno.readFile(new URL("model.fp16.safetensors", miniLmPackage())));
const config = JSON.parse(await Deno.readTextFile(new URL("config.json", miniLmPackage()))) as BertConfig;
/** [CLS] list my open pull requests [SEP] */
const IDS = [101, 2862, 2026, 2330, 4139, 11186, 102];

Deno.test("the converted model computes what the source weights say", async () => {
  const root = await Deno.makeTempDir({ prefix: "ac-model-" });
  try {
    const folder = await prepareMiniLm(root);
    await Deno.writeFile(`${root}/${folder.name}/onnx/model.onnx`, buildBert(weights, config, "float"));
    const expected = meanOf(forward(IDS));
    assert.ok(cosine(await runModel(root, folder.name, "fp32"), expected) > 0.99999, "as floats it is the same");
    const rounded = cosine(await runModel(root, folder.name, "q8"), expected);
    assert.ok(rounded > 0.98 && rounded < 0.99999, `rounded it is nearly the same: ${rounded}`);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("a conversion that was cut off is done again, a finished one is kept", async () => {
  const root = await Deno.makeTempDir({ prefix: "ac-model-" });
  try {
    await prepareMiniLm(root);
    const file = `${root}/${MINILM}/onnx/model_quantized.onnx`;
    const made = (await Deno.stat(file)).mtime!.getTime();
    await prepareMiniLm(root);
    assert.equal((await Deno.stat(file)).mtime!.getTime(), made);
    await Deno.truncate(file, 1000);
    await prepareMiniLm(root);
    assert.ok((await Deno.stat(file)).size > 20_000_000);
    assert.equal(await openModelFolder(root, MINILM, 0), undefined, "another recipe is another model");
    assert.deepEqual((await Array.fromAsync(Deno.readDir(root))).map(({ name }) => name), [MINILM]);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("weights that are not the expected ones are refused, and nothing is left behind", async () => {
  const root = await Deno.makeTempDir({ prefix: "ac-model-" });
  const source = await Deno.makeTempDir({ prefix: "ac-weights-" });
  try {
    for (const name of ["model.fp16.safetensors", "tokenizer.json", "config.json"]) {
      await Deno.copyFile(new URL(name, miniLmPackage()), `${source}/${name}`);
    }
    using file = await Deno.open(`${source}/model.fp16.safetensors`, { write: true });
    await file.seek(1_000_000, Deno.SeekMode.Start);
    await file.write(new Uint8Array([1]));
    await assert.rejects(
      prepareMiniLm(root, new URL(`file://${source}/`)),
      (error) => error instanceof AgentCardsError && error.code === "MODEL_UNUSABLE" && /SHA-256/.test(error.message),
    );
    assert.deepEqual(await Array.fromAsync(Deno.readDir(root)), []);
  } finally {
    await Deno.remove(root, { recursive: true });
    await Deno.remove(source, { recursive: true });
  }
});

Deno.test("a weights file that is cut off or lies about itself is an error, not a model", () => {
  const file = (header: unknown, bytes = 8) => {
    const text = new TextEncoder().encode(JSON.stringify(header));
    const whole = new Uint8Array(8 + text.length + bytes);
    new DataView(whole.buffer).setBigUint64(0, BigInt(text.length), true);
    whole.set(text, 8);
    return whole;
  };
  const entry = { dtype: "F32", shape: [2], data_offsets: [0, 8] };
  assert.deepEqual([...readSafetensors(file({ a: entry }))("a").data], [0, 0]);
  assert.throws(() => readSafetensors(file({ a: { ...entry, shape: [3] } }))("a"), /cut off/);
  assert.throws(() => readSafetensors(file({ a: { ...entry, dtype: "I4" } }))("a"), /not supported/);
  assert.throws(() => readSafetensors(file({ a: entry }))("toString"), /missing/);
  assert.throws(() => readSafetensors(file({ a: entry }).subarray(0, 20)), /cut off/);
  assert.throws(() => readSafetensors(new Uint8Array(3)), /no header/);
});

Deno.test("quantiseRows() gives every row back within half a step", () => {
  const data = Float32Array.from({ length: 300 }, (_, i) => Math.sin(i * 7) * (i < 100 ? 0.01 : 5));
  const { values, scales } = quantiseRows({ dims: [3, 100], data });
  data.forEach((value, i) => {
    const scale = scales[Math.floor(i / 100)]!;
    assert.ok(Math.abs(values[i]! * scale - value) <= scale / 2 + 1e-9);
  });
});

async function runModel(root: string, name: string, dtype: "fp32" | "q8"): Promise<Float32Array> {
  const { AutoModel, env, Tensor: Input } = await import("@huggingface/transformers");
  Object.assign(env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: `${root}/` });
  const model = await AutoModel.from_pretrained(name, { dtype });
  const input = (values: readonly number[]) => new Input("int64", values.map(BigInt), [1, values.length]);
  const output = await model({
    input_ids: input(IDS),
    attention_mask: input(IDS.map(() => 1)),
    token_type_ids: input(IDS.map(() => 0)),
  });
  await model.dispose();
  const states = output.last_hidden_state.data as Float32Array;
  return meanOf(IDS.map((_, i) => states.subarray(i * config.hidden_size, (i + 1) * config.hidden_size)));
}

/** The encoder in plain arithmetic, straight from the weights. */
function forward(ids: readonly number[]): Float32Array[] {
  const row = ({ data, dims }: Tensor, i: number) => data.subarray(i * dims[1]!, (i + 1) * dims[1]!);
  const words = weights("embeddings.word_embeddings.weight");
  const places = weights("embeddings.position_embeddings.weight");
  const types = weights("embeddings.token_type_embeddings.weight");
  let states = ids.map((id, i) =>
    norm(row(words, id).map((value, j) => value + row(places, i)[j]! + row(types, 0)[j]!), "embeddings.LayerNorm")
  );
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const at = `encoder.layer.${layer}`;
    const attended = attention(states, at);
    const mixed = states.map((state, i) =>
      norm(add(linear(attended[i]!, `${at}.attention.output.dense`), state), `${at}.attention.output.LayerNorm`)
    );
    states = mixed.map((state) => {
      const inner = linear(state, `${at}.intermediate.dense`).map((x) => 0.5 * x * (1 + erf(x / Math.SQRT2)));
      return norm(add(linear(inner, `${at}.output.dense`), state), `${at}.output.LayerNorm`);
    });
  }
  return states;
}

function attention(states: readonly Float32Array[], at: string): Float32Array[] {
  const size = config.hidden_size / config.num_attention_heads;
  const project = (name: string) => states.map((state) => linear(state, `${at}.attention.self.${name}`));
  const [queries, keys, values] = [project("query"), project("key"), project("value")];
  return states.map((_, i) => {
    const out = new Float32Array(config.hidden_size);
    for (let head = 0; head < config.num_attention_heads; head++) {
      const part = (vector: Float32Array) => vector.subarray(head * size, (head + 1) * size);
      const scores = keys.map((key) => Math.exp(dot(part(queries[i]!), part(key)) / Math.sqrt(size)));
      const total = scores.reduce((sum, score) => sum + score, 0);
      values.forEach((value, j) => part(value).forEach((x, k) => out[head * size + k]! += scores[j]! / total * x));
    }
    return out;
  });
}

function linear(input: Float32Array, name: string): Float32Array {
  const { data, dims } = weights(`${name}.weight`);
  return weights(`${name}.bias`).data.map((bias, i) =>
    bias + dot(input, data.subarray(i * dims[1]!, (i + 1) * dims[1]!))
  );
}

function norm(input: Float32Array, name: string): Float32Array {
  const mean = input.reduce((sum, x) => sum + x, 0) / input.length;
  const variance = input.reduce((sum, x) => sum + (x - mean) ** 2, 0) / input.length;
  const [weight, bias] = [weights(`${name}.weight`).data, weights(`${name}.bias`).data];
  return input.map((x, i) => (x - mean) / Math.sqrt(variance + config.layer_norm_eps) * weight[i]! + bias[i]!);
}

/** Abramowitz and Stegun 7.1.26: right to seven digits. */
function erf(x: number): number {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const poly = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  return Math.sign(x) * (1 - poly * Math.exp(-x * x));
}

function add(a: Float32Array, b: Float32Array): Float32Array {
  return a.map((x, i) => x + b[i]!);
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, x, i) => sum + x * b[i]!, 0);
}

function cosine(a: Float32Array, b: Float32Array): number {
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

function meanOf(vectors: readonly Float32Array[]): Float32Array {
  return vectors[0]!.map((_, i) => vectors.reduce((sum, vector) => sum + vector[i]!, 0) / vectors.length);
}
