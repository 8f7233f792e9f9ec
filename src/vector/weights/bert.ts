import { type Attribute, createGraph, ELEMENT, type Graph } from "./onnx.ts";
import type { Tensor } from "./safetensors.ts";

/** The sizes of a BERT encoder, from its `config.json`. */
export interface BertConfig {
  readonly hidden_size: number;
  readonly num_attention_heads: number;
  readonly num_hidden_layers: number;
  readonly layer_norm_eps: number;
}

/** `float` keeps the weights as they are; `int8` rounds them, a scale per column, and multiplies whole numbers. */
export type Precision = "float" | "int8";

const LAST_AXIS: Attribute = ["axis", "int", -1];
const FIRST_AXIS: Attribute = ["axis", "int", 0];
const TO_FLOAT: Attribute = ["to", "int", ELEMENT.float];
/** Added to what the mask hides before the softmax: enough to make it nothing, far from overflowing. */
const HIDDEN = -10_000;

/** The encoder as an ONNX model: token ids and mask in, one vector per token out. */
export function buildBert(weights: (name: string) => Tensor, config: BertConfig, precision: Precision): Uint8Array {
  const graph = createGraph();
  const { op } = graph;
  const { hidden_size: width, num_attention_heads: heads } = config;
  const linear = precision === "int8" ? int8Linear(graph, weights) : floatLinear(graph, weights);
  const lookup = precision === "int8" ? int8Lookup : floatLookup;
  const norm = (input: string, name: string) =>
    op(
      "LayerNormalization",
      [
        input,
        graph.floats(`${name}.weight`, weights(`${name}.weight`)),
        graph.floats(`${name}.bias`, weights(`${name}.bias`)),
      ],
      LAST_AXIS,
      ["epsilon", "float", config.layer_norm_eps],
    );

  const zero = graph.int64("zero", [0]);
  const one = graph.scalar("one", 1);
  const splitHeads = graph.int64("split_heads", [0, 0, heads, width / heads]);
  const joinHeads = graph.int64("join_heads", [0, 0, width]);
  const scale = graph.scalar("attention_scale", 1 / Math.sqrt(width / heads));
  const half = graph.scalar("half", 0.5);
  const rootHalf = graph.scalar("root_half", Math.SQRT1_2);

  // What each token is, where it stands, and which of two texts it belongs to.
  const length = op("Slice", [op("Shape", ["input_ids"]), graph.int64("first", [1]), graph.int64("second", [2]), zero]);
  const positions = graph.floats("positions", weights("embeddings.position_embeddings.weight"));
  const types = graph.floats("types", weights("embeddings.token_type_embeddings.weight"));
  const words = lookup(graph, "words", weights("embeddings.word_embeddings.weight"));
  const tokens = op("Add", [words("input_ids"), op("Gather", [types, "token_type_ids"], FIRST_AXIS)]);
  const placed = op("Add", [tokens, op("Slice", [positions, zero, length, zero])]);

  const seen = op("Cast", [op("Unsqueeze", ["attention_mask", graph.int64("mask_axes", [1, 2])])], TO_FLOAT);
  const mask = op("Mul", [op("Sub", [one, seen]), graph.scalar("hidden", HIDDEN)]);

  function attention(input: string, layer: string): string {
    const project = (name: string, ...order: number[]) =>
      op("Transpose", [op("Reshape", [linear(input, `${layer}.attention.self.${name}`), splitHeads])], [
        "perm",
        "ints",
        order,
      ]);
    const query = project("query", 0, 2, 1, 3);
    const key = project("key", 0, 2, 3, 1);
    const value = project("value", 0, 2, 1, 3);
    const scores = op("Add", [op("Mul", [op("MatMul", [query, key]), scale]), mask]);
    const mixed = op("MatMul", [op("Softmax", [scores], LAST_AXIS), value]);
    const joined = op("Reshape", [op("Transpose", [mixed], ["perm", "ints", [0, 2, 1, 3]]), joinHeads]);
    return linear(joined, `${layer}.attention.output.dense`);
  }

  /** x · Φ(x), with the exact error function that BERT was trained with. */
  function gelu(input: string): string {
    const phi = op("Add", [op("Erf", [op("Mul", [input, rootHalf])]), one]);
    return op("Mul", [op("Mul", [input, phi]), half]);
  }

  let state = norm(placed, "embeddings.LayerNorm");
  for (let i = 0; i < config.num_hidden_layers; i++) {
    const layer = `encoder.layer.${i}`;
    state = norm(op("Add", [attention(state, layer), state]), `${layer}.attention.output.LayerNorm`);
    const inner = gelu(linear(state, `${layer}.intermediate.dense`));
    state = norm(op("Add", [linear(inner, `${layer}.output.dense`), state]), `${layer}.output.LayerNorm`);
  }
  return graph.build({
    inputs: ["input_ids", "attention_mask", "token_type_ids"],
    output: "last_hidden_state",
    from: state,
    width,
  });
}

type Linear = (input: string, name: string) => string;

function floatLinear(graph: Graph, weights: (name: string) => Tensor): Linear {
  return (input, name) => {
    const { dims: [rows = 0, columns = 0], data } = weights(`${name}.weight`);
    const matrix = graph.floats(`${name}.weight`, { dims: [columns, rows], data: turn(data, rows, columns) });
    return graph.op("Add", [
      graph.op("MatMul", [input, matrix]),
      graph.floats(`${name}.bias`, weights(`${name}.bias`)),
    ]);
  };
}

/** The input is rounded when it runs, the weights are rounded here; the product is scaled back. */
function int8Linear(graph: Graph, weights: (name: string) => Tensor): Linear {
  return (input, name) => {
    // A row of the stored matrix is a column of the product.
    const { values, scales } = quantiseRows(weights(`${name}.weight`));
    const [columns = 0, rows = 0] = weights(`${name}.weight`).dims;
    const matrix = graph.int8(`${name}.weight`, [rows, columns], turn(values, columns, rows));
    const zeros = graph.int8(`${name}.zeros`, [columns], new Int8Array(columns));
    const scale = graph.floats(`${name}.scales`, { dims: [columns], data: scales });
    const [rounded, step, offset] = graph.ops("DynamicQuantizeLinear", [input], 3) as [string, string, string];
    const product = graph.op("Cast", [graph.op("MatMulInteger", [rounded, matrix, offset, zeros])], TO_FLOAT);
    const scaled = graph.op("Mul", [product, graph.op("Mul", [step, scale])]);
    return graph.op("Add", [scaled, graph.floats(`${name}.bias`, weights(`${name}.bias`))]);
  };
}

type Lookup = (graph: Graph, name: string, table: Tensor) => (ids: string) => string;

const floatLookup: Lookup = (graph, name, table) => {
  const rows = graph.floats(name, table);
  return (ids) => graph.op("Gather", [rows, ids], FIRST_AXIS);
};

const int8Lookup: Lookup = (graph, name, table) => {
  const { values, scales } = quantiseRows(table);
  const rows = graph.int8(name, table.dims, values);
  const scale = graph.floats(`${name}.scales`, { dims: [table.dims[0]!, 1], data: scales });
  return (ids) =>
    graph.op("Mul", [
      graph.op("Cast", [graph.op("Gather", [rows, ids], FIRST_AXIS)], TO_FLOAT),
      graph.op("Gather", [scale, ids], FIRST_AXIS),
    ]);
};

/** Each row as whole numbers from -127 to 127 and the factor that gives the row back. */
export function quantiseRows({ dims, data }: Tensor): { values: Int8Array; scales: Float32Array } {
  const [rows = 0, columns = 0] = dims;
  const values = new Int8Array(data.length);
  const scales = new Float32Array(rows);
  for (let i = 0; i < rows; i++) {
    const row = data.subarray(i * columns, (i + 1) * columns);
    let largest = 0;
    for (const value of row) largest = Math.max(largest, Math.abs(value));
    const scale = largest / 127 || 1;
    scales[i] = scale;
    for (let j = 0; j < columns; j++) values[i * columns + j] = Math.round(row[j]! / scale);
  }
  return { values, scales };
}

/** Rows become columns. */
function turn<T extends Float32Array | Int8Array>(values: T, rows: number, columns: number): T {
  const turned = values.slice() as T;
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) turned[j * rows + i] = values[i * columns + j]!;
  }
  return turned;
}
