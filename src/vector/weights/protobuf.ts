// The three kinds of field that ONNX files are made of, in the wire format of protocol buffers.

const VARINT = 0;
const BYTES = 2;
const FLOAT = 5;
const encoder = new TextEncoder();

/** A whole number; negative ones take ten bytes, as the format says. */
export function integer(field: number, value: number): Uint8Array {
  return concat([varint(BigInt(field << 3 | VARINT)), varint(BigInt.asUintN(64, BigInt(value)))]);
}

export function float(field: number, value: number): Uint8Array {
  const bytes = new Uint8Array(Float32Array.of(value).buffer);
  return concat([varint(BigInt(field << 3 | FLOAT)), bytes]);
}

export function text(field: number, value: string): Uint8Array {
  return message(field, encoder.encode(value));
}

/** Bytes with their length in front: a text, raw data, or another message. */
export function message(field: number, content: Uint8Array): Uint8Array {
  return concat([varint(BigInt(field << 3 | BYTES)), varint(BigInt(content.length)), content]);
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Seven bits a byte, the lowest first, the top bit where more follow. */
function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  do {
    const more = value > 0x7fn;
    bytes.push(Number(value & 0x7fn) | (more ? 0x80 : 0));
    value >>= 7n;
  } while (value);
  return Uint8Array.from(bytes);
}
