import { isObject } from "../../model/mod.ts";

/** Numbers in a shape; whatever precision the file has, they are read as 32 bit. */
export interface Tensor {
  readonly dims: readonly number[];
  readonly data: Float32Array;
}

/** Opens a `.safetensors` file: eight bytes of header length, a JSON header, then the numbers. */
export function readSafetensors(file: Uint8Array): (name: string) => Tensor {
  if (file.length < 8) throw new TypeError("Cannot read the weights: the file has no header");
  const headerLength = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
  if (headerLength > file.length - 8) throw new TypeError("Cannot read the weights: the header is cut off");
  const header: unknown = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + headerLength)));
  const numbers = file.subarray(8 + headerLength);
  return (name) => {
    const entry = isObject(header) && Object.hasOwn(header, name) ? header[name] : undefined;
    if (!isEntry(entry)) throw new TypeError(`Cannot read the weights: ${name} is missing`);
    const [from, to] = entry.data_offsets;
    // A copy, since a typed array must begin at a multiple of its element size.
    const data = toFloat32(entry.dtype, numbers.slice(from, to).buffer);
    if (data.length !== entry.shape.reduce((product, size) => product * size, 1)) {
      throw new TypeError(`Cannot read the weights: ${name} is cut off`);
    }
    return { dims: entry.shape, data };
  };
}

interface Entry {
  readonly dtype: string;
  readonly shape: number[];
  readonly data_offsets: [number, number];
}

function isEntry(value: unknown): value is Entry {
  return isObject(value) && typeof value.dtype === "string" && Array.isArray(value.shape) &&
    Array.isArray(value.data_offsets);
}

function toFloat32(dtype: string, bytes: ArrayBuffer): Float32Array {
  switch (dtype) {
    case "F32":
      return new Float32Array(bytes);
    case "F16":
      return new Float32Array(new Float16Array(bytes));
    default:
      throw new TypeError(`Cannot read the weights: numbers of type ${dtype} are not supported`);
  }
}
