import assert from "node:assert/strict";
import { meant } from "../../src/model/coerce.ts";

Deno.test("a text is read as the JSON it holds only where nothing of it is lost", () => {
  for (
    const [text, wanted, value] of [
      ["5", "integer", 5],
      [" 5 ", "number", 5],
      ["-2.5", "number", -2.5],
      ["true", "boolean", true],
      ['{"a": [1]}', "object", { a: [1] }],
      ["[1, 2]", "array", [1, 2]],
    ] as const
  ) assert.deepEqual(meant(text, wanted), { value }, text);
  for (
    const [text, wanted] of [
      ["1234567890123456789", "integer"],
      ["0.10000000000000000001", "number"],
      ["1e3", "integer"],
      ["007", "integer"],
      ["5.5", "integer"],
      ["five", "number"],
      ["[1]", "object"],
      ["null", "object"],
      ["5", "string"],
      ["5", "toString"],
    ] as const
  ) assert.equal(meant(text, wanted), undefined, text);
});
