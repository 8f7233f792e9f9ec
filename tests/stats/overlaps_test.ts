import assert from "node:assert/strict";
import type { Tool } from "../../src/model/mod.ts";
import { overlap } from "../../src/stats/overlaps.ts";

const tool = (server: string, description: string, ...parameters: string[]) =>
  ({
    server,
    name: "read_file",
    description,
    inputSchema: { type: "object", properties: Object.fromEntries(parameters.map((name) => [name, {}])) },
  }) as unknown as Tool;

Deno.test("tools overlap where words or meaning and parameters are alike, on different servers", () => {
  const one = tool("a", "Reads the whole text of a file", "path");
  assert.ok(overlap(one, tool("b", "Reads the text of a file", "path", "encoding"), 0));
  assert.ok(overlap(one, tool("b", "Contents of some document", "path"), 0.9), "near in meaning");
  assert.ok(!overlap(one, tool("b", "Contents of some document", "path"), 0.3));
  assert.ok(!overlap(one, tool("b", "Reads the text of a file", "url", "method"), 0.9), "called in another way");
  assert.ok(!overlap(one, tool("a", "Reads the whole text of a file", "path"), 1), "of the same server");
});
