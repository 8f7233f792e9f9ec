// docs/CONFIGURATION.md names every key that there is, and no other; its example is right.
import assert from "node:assert/strict";
import { z } from "../../deps.ts";
import { parseConfig } from "../../src/config/read.ts";
import { fileSchema } from "../../src/config/schema.ts";

const text = await Deno.readTextFile(new URL("../../docs/CONFIGURATION.md", import.meta.url));

/** Every key of a schema as a path; a record of sections has NAME in its place. */
function keysOf(schema: unknown, path = ""): string[] {
  if (schema instanceof z.ZodOptional) return keysOf(schema.unwrap(), path);
  if (schema instanceof z.ZodObject) {
    const { catchall } = schema.def;
    const named = catchall instanceof z.ZodObject ? keysOf(catchall, `${path}.NAME`) : [];
    const own = Object.entries(schema.shape);
    return [...named, ...own.flatMap(([key, inner]) => keysOf(inner, path === "" ? key : `${path}.${key}`))];
  }
  if (schema instanceof z.ZodRecord && schema.valueType instanceof z.ZodObject) {
    return keysOf(schema.valueType, `${path}.NAME`);
  }
  return [path];
}

Deno.test("the page on configuration has a row for every key", () => {
  const rows = [...text.matchAll(/^\| `([\w.]+)`/gm)].map(([, key]) => key!);
  assert.deepEqual(rows.toSorted(), keysOf(fileSchema).toSorted());
});

Deno.test("the example of the page on configuration is right", () => {
  const [, example] = /```yaml\n([^]*?)```/.exec(text)!;
  assert.deepEqual(Object.keys(parseConfig(example!, "x").servers!), ["files", "docs"]);
});
