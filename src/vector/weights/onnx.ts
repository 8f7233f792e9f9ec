// Writes ONNX models: just enough of the format (protocol buffers, opset 17) to say what an encoder is made of.
import { concat, float, integer, message, text } from "./protobuf.ts";
import type { Tensor } from "./safetensors.ts";

const IR_VERSION = 8;
const OPSET = 17;

/** The element types of ONNX that are used here. */
export const ELEMENT = { float: 1, int8: 3, int64: 7 } as const;

/** An operation's setting: a whole number, a fraction, or a list of whole numbers. */
export type Attribute = readonly [name: string, kind: "int" | "float" | "ints", value: number | readonly number[]];

/** Collects operations and constants; every operation gives back the names of its outputs. */
export interface Graph {
  op(name: string, inputs: readonly string[], ...attributes: Attribute[]): string;
  ops(name: string, inputs: readonly string[], outputs: number): string[];
  floats(name: string, tensor: Tensor): string;
  scalar(name: string, value: number): string;
  int8(name: string, dims: readonly number[], data: Int8Array): string;
  int64(name: string, values: readonly number[]): string;
  /** The finished model. */
  build(options: { inputs: readonly string[]; output: string; from: string; width: number }): Uint8Array;
}

export function createGraph(): Graph {
  const nodes: Uint8Array[] = [];
  const constants: Uint8Array[] = [];
  let count = 0;

  function add(op: string, inputs: readonly string[], outputs: readonly string[], attributes: readonly Attribute[]) {
    nodes.push(concat([
      ...inputs.map((input) => text(1, input)),
      ...outputs.map((output) => text(2, output)),
      text(4, op),
      ...attributes.map((attribute) => message(5, attributeBytes(attribute))),
    ]));
  }
  function constant(name: string, element: number, dims: readonly number[], data: ArrayBufferView): string {
    const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    constants.push(
      concat([...dims.map((size) => integer(1, size)), integer(2, element), text(8, name), message(9, raw)]),
    );
    return name;
  }
  const fresh = () => `t${count++}`;

  return {
    op(name, inputs, ...attributes) {
      const output = fresh();
      add(name, inputs, [output], attributes);
      return output;
    },
    ops(name, inputs, outputs) {
      const names = Array.from({ length: outputs }, fresh);
      add(name, inputs, names, []);
      return names;
    },
    floats: (name, { dims, data }) => constant(name, ELEMENT.float, dims, data),
    scalar: (name, value) => constant(name, ELEMENT.float, [], Float32Array.of(value)),
    int8: (name, dims, data) => constant(name, ELEMENT.int8, dims, data),
    int64: (name, values) => constant(name, ELEMENT.int64, [values.length], BigInt64Array.from(values.map(BigInt))),
    build({ inputs, output, from, width }) {
      add("Identity", [from], [output], []);
      const graph = concat([
        ...nodes.map((node) => message(1, node)),
        text(2, "encoder"),
        ...constants.map((tensor) => message(5, tensor)),
        ...inputs.map((name) => message(11, value(name, ELEMENT.int64, ["batch", "sequence"]))),
        message(12, value(output, ELEMENT.float, ["batch", "sequence", width])),
      ]);
      const opset = concat([text(1, ""), integer(2, OPSET)]);
      return concat([integer(1, IR_VERSION), text(2, "agentcards"), message(7, graph), message(8, opset)]);
    },
  };
}

const ATTRIBUTE_TYPE = { float: 1, int: 2, ints: 7 } as const;

function attributeBytes([name, kind, given]: Attribute): Uint8Array {
  const values = typeof given === "number" ? [given] : given;
  const field = { int: 3, ints: 8 };
  const encoded = values.map((number) => kind === "float" ? float(2, number) : integer(field[kind], number));
  return concat([text(1, name), ...encoded, integer(20, ATTRIBUTE_TYPE[kind])]);
}

/** The name, element type and shape of what goes in or comes out; a named size is known only when it runs. */
function value(name: string, element: number, dims: readonly (string | number)[]): Uint8Array {
  const shape = concat(dims.map((size) => message(1, typeof size === "string" ? text(2, size) : integer(1, size))));
  const type = concat([integer(1, element), message(2, shape)]);
  return concat([text(1, name), message(2, message(1, type))]);
}
