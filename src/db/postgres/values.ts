/** Values as PGlite's driver has them, so that a store sees no difference. The numbers are PostgreSQL's own of its types. */
const JSON_TEXT = 114;
const JSONB = 3802;
const INT8 = 20;
const INT4S = 1007;
const FLOAT4S = 1021;

type Numbers = ArrayLike<number>;

const written = (numbers: Numbers) => `{${Array.from(numbers).join()}}`;
const listed = (text: string) => text === "{}" ? [] : text.slice(1, -1).split(",");

export const TYPES = {
  json: {
    to: JSON_TEXT,
    from: [JSON_TEXT, JSONB],
    // Text goes in as the JSON that it is.
    serialize: (value: unknown) => typeof value === "string" ? value : JSON.stringify(value),
    parse: (text: string): unknown => JSON.parse(text),
  },
  int8: {
    to: INT8,
    from: [INT8],
    serialize: String,
    parse: (text: string) => Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text),
  },
  int4s: {
    to: INT4S,
    from: [INT4S],
    serialize: written,
    parse: (text: string) => Int32Array.from(listed(text), Number),
  },
  float4s: {
    to: FLOAT4S,
    from: [FLOAT4S],
    serialize: written,
    parse: (text: string) => Float32Array.from(listed(text), Number),
  },
};
