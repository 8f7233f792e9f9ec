import assert from "node:assert/strict";
import type { JsonObject } from "../../src/model/json.ts";
import { signature } from "../../src/model/signature.ts";
import type { Tool } from "../../src/model/tool.ts";

function tool(inputSchema: unknown, rest: Partial<Tool> = {}): Tool {
  return {
    id: "s:t",
    server: "s",
    name: "t",
    description: "",
    hash: "",
    inputSchema: inputSchema as JsonObject,
    ...rest,
  };
}
const typeOf = (schema: unknown) => signature(tool({ properties: { p: schema }, required: ["p"] })).slice(7, -1);

Deno.test("signature() puts required parameters first and describes the tool on one line", () => {
  const schema = {
    type: "object",
    properties: { body: { type: "string" }, owner: { type: "string" }, count: { type: "integer" } },
    required: ["count", "owner"],
  };
  const text = signature(tool(schema, { description: "Creates\n an \x1b[31missue\u202e. " + "x".repeat(500) }), 30);
  assert.equal(text, "s:t(owner: string, count: number, body?: string) — Creates an issue. xxxxxxxxxxx…");
  assert.equal(signature(tool({}, { title: "A title" })), "s:t() — A title");
});

Deno.test("signature() writes types as TypeScript does", () => {
  assert.equal(typeOf({ enum: ["a", 1, null] }), '"a"|1|null');
  assert.equal(typeOf({ const: "x" }), '"x"');
  assert.equal(typeOf({ type: ["string", "null"] }), "string | null");
  assert.equal(typeOf({ anyOf: [{ type: "string" }, { type: "string" }, { type: "number" }] }), "string | number");
  assert.equal(typeOf({ type: "array", items: { type: "string" } }), "string[]");
  assert.equal(typeOf({ type: "array", items: { type: ["string", "null"] } }), "Array<string | null>");
  assert.equal(typeOf({ type: "array" }), "unknown[]");
  assert.equal(
    typeOf({ type: "object", properties: { a: { type: "boolean" }, b: {} }, required: ["a"] }),
    "{a: boolean, b?: unknown}",
  );
  assert.equal(typeOf({ type: "object" }), "object");
  assert.equal(typeOf({ type: "object", additionalProperties: { type: "number" } }), "Record<string, number>");
  assert.equal(
    typeOf({ allOf: [{ type: "object", properties: { a: { type: "string" } } }, { type: "object" }] }),
    "{a?: string} & object",
  );
  assert.equal(typeOf({ enum: Array.from({ length: 9 }, (_, i) => i) }), "0|1|2|3|4|5|6|7|…");
});

Deno.test("signature() shows defaults and follows references inside the schema", () => {
  const schema = {
    properties: {
      limit: { type: "integer", default: 10 },
      where: { $ref: "#/$defs/filter" },
      far: { $ref: "http://x/y" },
    },
    required: ["where"],
    $defs: { filter: { type: "object", properties: { and: { type: "array", items: { $ref: "#/$defs/filter" } } } } },
  };
  const text = signature(tool(schema));
  assert.match(text, /^s:t\(where: \{and\?: unknown\[\]\}/);
  assert.match(text, /, limit\?: number = 10, far\?: unknown\)$/);
  assert.equal(
    signature(tool({ anyOf: [{ properties: { a: { type: "string" } }, required: ["a"] }, { type: "null" }] })),
    "s:t({a: string} | null)",
  );
});

Deno.test("signature() takes any schema a server may send", () => {
  for (const odd of [null, 3, "x", true, [], { type: 7 }, { type: [] }, { type: [["string"]] }, { enum: "x" }]) {
    assert.equal(typeOf(odd), "unknown", JSON.stringify(odd));
  }
  assert.equal(typeOf({ anyOf: null, type: "string" }), "string");
  assert.equal(signature(tool({ properties: [1], required: "all" })), "s:t()");
  const named = JSON.parse('{"properties":{"__proto__":{"type":"string"},"constructor":{}},"required":["__proto__"]}');
  assert.equal(signature(tool(named)), "s:t(__proto__: string, constructor?: unknown)");
  let deep: unknown = { type: "string" };
  for (let i = 0; i < 200; i++) deep = i % 2 ? { type: "array", items: deep } : { anyOf: [deep, { type: "null" }] };
  assert.ok(typeOf(deep).length < 2_100);
});

Deno.test("signature() of a schema that repeats itself on every level is done at once", () => {
  const types = Array.from({ length: 40 }, () => "array");
  let schema: unknown = { type: "string" };
  for (let i = 0; i < 40; i++) schema = { type: [...types, ["array"], "odd"], items: schema };
  const started = performance.now();
  typeOf(schema);
  assert.ok(performance.now() - started < 500);
});

Deno.test("signature() stays short whatever the number of parameters", () => {
  const properties = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`p${i}`, { type: "string" }]));
  const text = signature(tool({ properties, required: ["p4999"] }));
  assert.ok(text.length < 2_200, `${text.length}`);
  assert.match(text, /^s:t\(p4999: string, p0\?: string/, "the required ones are seen");
  assert.match(text, /…\)$/);
});
