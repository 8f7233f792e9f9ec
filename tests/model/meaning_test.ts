import assert from "node:assert/strict";
import type { JsonObject } from "../../src/model/json.ts";
import { readBySchema } from "../../src/model/meaning.ts";

const NULL = { type: "null" };
const SCHEMA: JsonObject = {
  type: "object",
  properties: {
    names: { anyOf: [{ type: "array", items: { type: "string" } }, NULL] },
    opts: { type: ["object", "null"], properties: { count: { type: "integer" } } },
    count: { oneOf: [{ type: "integer" }, NULL] },
    query: { anyOf: [{ type: "string" }, { type: "object" }] },
    any: {},
    model: { anyOf: [{ $ref: "#/$defs/Model" }, NULL] },
    models: { type: "array", items: { allOf: [{ $ref: "#/$defs/Model" }] } },
    either: { anyOf: [{ type: "object", properties: { n: { type: "integer" } } }, { $ref: "#/$defs/Model" }] },
    sizes: { type: "object", additionalProperties: { type: "number" } },
  },
  $defs: {
    Model: {
      type: "object",
      properties: { tags: { type: "array", items: { type: "string" } }, next: { $ref: "#/$defs/Model" } },
    },
  },
};

Deno.test("texts are read as JSON where a schema wants no text: optional, referenced and nested ones too", () => {
  for (
    const [given, meant] of [
      [{ names: '["x", "1"]' }, { names: ["x", "1"] }],
      [{ names: "null" }, { names: null }],
      [{ opts: '{"count": "3"}' }, { opts: { count: 3 } }],
      [{ count: "3" }, { count: 3 }],
      [{ model: '{"tags": "[\\"a\\"]"}' }, { model: { tags: ["a"] } }],
      [{ models: [{ tags: '["a"]', next: '{"tags": "[]"}' }] }, { models: [{ tags: ["a"], next: { tags: [] } }] }],
      [{ sizes: { a: "1.5", b: 2 } }, { sizes: { a: 1.5, b: 2 } }],
      [{ either: '{"n": "1"}' }, { either: { n: "1" } }],
    ] as const
  ) assert.deepEqual(readBySchema<Record<string, unknown>>(given, SCHEMA), meant);
});

Deno.test("a text stays a text where it may be one, and what was right is the very same value", () => {
  for (
    const given of [
      { query: '{"a": 1}' },
      { any: "[1]" },
      { unknown: "5" },
      { names: "x" },
      { names: '{"a": 1}' },
      { count: "five" },
      { names: ["1", "2"], opts: { count: 3 }, model: { tags: ["null"] } },
    ]
  ) assert.equal(readBySchema<Record<string, unknown>>(given, SCHEMA), given, JSON.stringify(given));
});

Deno.test("reading by a schema that refers to itself comes to an end", () => {
  const any = { anyOf: Array.from({ length: 40 }, () => ({ $ref: "#/$defs/Any" })) };
  const schema = { properties: { a: { $ref: "#/$defs/Any" } }, $defs: { Any: any, Me: { $ref: "#/$defs/Me" } } };
  const given = { a: Array.from({ length: 1_000 }, () => "[1]") };
  assert.equal(readBySchema(given, schema), given);
});
