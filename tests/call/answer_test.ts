import { type ToolResult } from "../../src/model/call.ts";
import assert from "node:assert/strict";
import { isReadable, shape, shapeAnswer, textResult, valueOf } from "../../src/call/answer.ts";
import { tokens } from "../../src/model/text.ts";

const OPTIONS = { answerTokens: 1_000, handle: "r_0123456789abcdef" };
const text = (...texts: string[]) => texts.map((each) => ({ type: "text", text: each }));
const noteOf = (result: ToolResult) => (result.content as { text: string }[])[0]!.text;

Deno.test("an answer within the budget is passed on as it is, the very object", () => {
  const result = { content: text("x".repeat(4_000)), _meta: { a: 1 } };
  assert.ok(isReadable(result, 1_000));
  assert.deepEqual(shapeAnswer(result, OPTIONS), { result });
  assert.equal(shapeAnswer(result, OPTIONS).result, result);
  assert.ok(!isReadable({ content: text("x".repeat(4_001)) }, 1_000));
});

Deno.test("a large text is stored, and a note with its handle, shape and beginning stands in its place", () => {
  const image = { type: "image", data: "x".repeat(100_000), mimeType: "image/png" };
  const result = { content: [...text("begin " + "x".repeat(8_000)), image], isError: true, _meta: { a: 1 } };
  const shaped = shapeAnswer(result, OPTIONS);
  assert.equal(JSON.parse(shaped.stored!.json), "begin " + "x".repeat(8_000));
  assert.deepEqual((shaped.result.content as unknown[])[1], image, "pictures stay");
  assert.deepEqual([shaped.result.isError, shaped.result._meta], [true, { a: 1 }]);
  const note = noteOf(shaped.result);
  assert.match(note, /about 2002 tokens and was stored as r_0123456789abcdef/);
  assert.match(note, /Shape: string\(8006\)/);
  assert.match(note, /It begins:\nbegin x+…$/);
  assert.ok(tokens(note) < 1_000);
});

Deno.test("structured content counts, and is stored once when the text only repeats it", () => {
  const structuredContent = { rows: Array.from({ length: 500 }, (_, i) => ({ i, name: `row ${i}` })) };
  const repeated = { structuredContent, content: text(JSON.stringify(structuredContent, null, 2)) };
  const shaped = shapeAnswer(repeated, OPTIONS);
  assert.deepEqual(JSON.parse(shaped.stored!.json), structuredContent);
  assert.equal(shaped.result.structuredContent, undefined);
  assert.match(noteOf(shaped.result), /Shape: \{rows: array\(500\) of \{i: number, name: string\(5\)\}\}/);
  assert.deepEqual(
    JSON.parse(shapeAnswer({ structuredContent, content: [] }, OPTIONS).stored!.json),
    structuredContent,
  );
});

Deno.test("text beside structured content is not lost when it says something else", () => {
  const report = "The report. ".repeat(1_000);
  const { stored } = shapeAnswer({ structuredContent: { ok: true }, content: text(report) }, OPTIONS);
  assert.deepEqual(JSON.parse(stored!.json), { structuredContent: { ok: true }, text: report });
});

Deno.test("the note fits the budget whatever the value looks like", () => {
  const wide = (depth: number): unknown =>
    depth === 0
      ? "leaf"
      : Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`${"key".repeat(30)}${i}`, wide(depth - 1)]));
  const { result } = shapeAnswer({ content: text(JSON.stringify(wide(3))) }, OPTIONS);
  assert.ok(isReadable(result, OPTIONS.answerTokens), `${noteOf(result).length} characters`);
});

Deno.test("valueOf() prefers structured content, then JSON, then text", () => {
  assert.deepEqual(valueOf({ structuredContent: null, content: text("x") }), null);
  assert.deepEqual(valueOf({ content: text(' {"a": 1}') }), { a: 1 });
  assert.deepEqual(valueOf({ content: text("{not json") }), "{not json");
  assert.deepEqual(valueOf({ content: text("42") }), "42");
  assert.deepEqual(valueOf({ content: [...text("a", "[1]"), { type: "image" }] }), ["a", [1]]);
  assert.deepEqual(valueOf({}), []);
});

Deno.test("no answer is too odd to be looked at", () => {
  for (
    const content of [undefined, null, 3, "x", {}, [null, 1, "x", {}, { type: "text" }, { type: "text", text: 3 }]]
  ) {
    const result: ToolResult = { content };
    assert.deepEqual(shapeAnswer(result, OPTIONS), { result });
    const large: ToolResult = { content, structuredContent: "x".repeat(10_000) };
    assert.equal(JSON.parse(shapeAnswer(large, OPTIONS).stored!.json), large.structuredContent);
  }
});

Deno.test("shape() outlines a value", () => {
  assert.equal(shape([]), "array(0)");
  assert.equal(shape([[[[1]]]]), "array(1) of array(1) of array(1) of array(1)");
  assert.equal(
    shape({ a: null, b: true, c: { d: { e: { f: 1 } } } }),
    "{a: null, b: boolean, c: {d: {e: object(1 keys)}}}",
  );
  assert.match(shape(Object.fromEntries(Array.from({ length: 22 }, (_, i) => [i, i]))), /, … 2 more\}$/);
});

Deno.test("textResult() says when it is an error", () => {
  assert.deepEqual(textResult("a"), { content: text("a") });
  assert.deepEqual(textResult("a", true), { content: text("a"), isError: true });
});
