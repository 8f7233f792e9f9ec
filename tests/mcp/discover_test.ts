import assert from "node:assert/strict";
import { readTools } from "../../src/mcp/discover.ts";

const LIMITS = { tools_per_server: 100, definition_bytes: 10_000 };
const read = (raw: unknown[], limits = LIMITS) => readTools("s", raw, limits);
const schema = { type: "object", properties: { a: { type: "string" } } };

Deno.test("a tool that is in order comes through unchanged", async () => {
  const raw = {
    name: "t",
    title: "T",
    description: "does it",
    inputSchema: schema,
    outputSchema: { type: "object" },
    annotations: { readOnlyHint: true },
  };
  const { tools, dropped, repaired } = await read([raw]);
  const { hash, ...tool } = tools[0]!;
  assert.deepEqual(tool, { id: "s:t", server: "s", ...raw });
  assert.match(hash, /^[0-9a-f]{64}$/);
  assert.deepEqual([dropped, repaired], [[], []]);
  assert.ok(Object.isFrozen(tools[0]));
});

Deno.test("the hash covers the whole definition, not the order of its keys", async () => {
  const hash = async (raw: unknown) => (await read([raw])).tools[0]!.hash;
  const base = await hash({ name: "t", inputSchema: schema });
  assert.equal(await hash({ inputSchema: { properties: schema.properties, type: "object" }, name: "t" }), base);
  for (const change of [{ description: "x" }, { annotations: {} }, { _meta: { a: 1 } }, { description: "\u200b" }]) {
    assert.notEqual(await hash({ name: "t", inputSchema: schema, ...change }), base, JSON.stringify(change));
  }
});

Deno.test("one bad tool is dropped with its reason, and the others stay", async () => {
  const { tools, dropped } = await read([
    { name: "first", inputSchema: schema },
    null,
    "text",
    [],
    {},
    { name: 3 },
    { name: "" },
    { name: "with space" },
    { name: "new\nline" },
    { name: "п" },
    { name: "x".repeat(129) },
    { name: "huge", description: "x".repeat(20_000) },
    { name: "wide", description: "é😀".repeat(2_000) },
    { name: "list", inputSchema: [] },
    { name: "null", inputSchema: null },
    { name: "array", inputSchema: { type: "array" } },
    { name: "first", description: "again" },
    { name: "last", inputSchema: schema },
  ]);
  assert.deepEqual(tools.map(({ name }) => name), ["first", "last"]);
  assert.equal(dropped.length, 16);
  assert.ok(dropped.every(({ why }) => why.length > 0));
  assert.match(dropped.find(({ tool }) => tool === "huge")!.why, /definition_bytes is 10000/);
  assert.match(dropped.find(({ tool }) => tool === "first")!.why, /twice/);
  assert.equal(dropped[7]!.tool, "new line", "a foreign name is shown on one line");
});

Deno.test("what can be mended is, and that is said", async () => {
  const { tools, repaired } = await read([
    { name: "bare" },
    { name: "untyped", inputSchema: { properties: {} } },
    { name: "hidden", description: "a\u202eb\x1b[31m", inputSchema: schema },
    { name: "output", inputSchema: schema, outputSchema: "yes" },
    { name: "odd", inputSchema: schema, description: 3, title: 4, annotations: 5 },
  ]);
  assert.deepEqual(tools.map(({ inputSchema }) => inputSchema.type), Array(5).fill("object"));
  assert.equal(tools[2]!.description, "ab");
  assert.deepEqual(
    [tools[4]!.description, tools[4]!.title, tools[4]!.annotations, tools[3]!.outputSchema],
    ["", undefined, undefined, undefined],
  );
  assert.deepEqual(repaired.map(({ tool }) => tool), ["bare", "untyped", "hidden", "output"]);
});

Deno.test("a description has an end", async () => {
  const { tools } = await read([{ name: "t", description: "x".repeat(50_000) }], {
    ...LIMITS,
    definition_bytes: 100_000,
  });
  assert.equal(tools[0]!.description.length, 16_384);
});

Deno.test("too many tools are cut and said", async () => {
  const { tools, dropped } = await read(Array.from({ length: 150 }, (_, i) => ({ name: `t${i}` })));
  assert.equal(tools.length, 100);
  assert.deepEqual(dropped, [{ tool: "*", why: "the server lists 150 tools; limits.tools_per_server is 100" }]);
});

Deno.test("names of the prototype are names like any other", async () => {
  const { tools } = await read(["__proto__", "constructor", "toString"].map((name) => ({ name })));
  assert.deepEqual(tools.map(({ id }) => id), ["s:__proto__", "s:constructor", "s:toString"]);
});

Deno.test("what no database can hold is taken out of a definition", async () => {
  const inputSchema = {
    type: "object",
    properties: { a: { enum: ["x\0y", "\ud800", "😀", "\\u0000"] }, ["k\0"]: {} },
    description: "\udfff",
  };
  const { tools, repaired } = await read([{ name: "t", inputSchema, annotations: { title: "\0" } }]);
  assert.deepEqual(tools[0]!.inputSchema, {
    type: "object",
    properties: { a: { enum: ["xy", "\ufffd", "😀", "\\u0000"] }, k: {} },
    description: "\ufffd",
  });
  assert.deepEqual(tools[0]!.annotations, { title: "" });
  assert.match(repaired[0]!.why, /NUL/);
});

Deno.test("a definition as deep as the wire lets through is read", async () => {
  let deep: unknown = {};
  for (let i = 0; i < 250; i++) deep = i % 2 ? [deep] : { a: deep };
  const { tools } = await read([{ name: "deep", inputSchema: { type: "object", properties: { deep } } }]);
  assert.equal(tools.length, 1);
});
