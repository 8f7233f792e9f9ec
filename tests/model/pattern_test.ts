import assert from "node:assert/strict";
import { matchesPattern } from "../../src/model/pattern.ts";
import { seeded } from "./random.ts";

Deno.test("only * is special in a pattern", () => {
  for (
    const [pattern, id, matches] of [
      ["github:*", "github:create_issue", true],
      ["github:*", "github2:create_issue", false],
      ["*:delete_*", "github:delete_repo", true],
      ["*:delete_*", "github:undelete_repo", false],
      ["slack:post_message", "slack:post_message", true],
      ["slack:post_message", "slack:post_message2", false],
      ["slack:post_message", "xslack:post_message", false],
      ["*", "anything:at all", true],
      ["a*a", "a", false],
      ["a*a", "aa", true],
      ["ab*ba", "aba", false],
      ["a.b:*", "axb:c", false],
      ["a:[x]", "a:x", false],
      ["GitHub:*", "github:x", false],
      ["", "a", false],
    ] as const
  ) assert.equal(matchesPattern(pattern, id), matches, `${pattern} on ${id}`);
});

Deno.test("a pattern matches exactly what the plain regular expression matches", () => {
  const random = seeded(4);
  let matched = 0;
  for (let i = 0; i < 5_000; i++) {
    const pattern = random.text("ab:.**", 7);
    const id = random.text("ab:.", 8);
    const model = new RegExp(`^${pattern.split("*").map((part) => RegExp.escape(part)).join("[^]*")}$`);
    assert.equal(matchesPattern(pattern, id), model.test(id), `${pattern} on ${id}`);
    if (model.test(id)) matched++;
  }
  assert.ok(matched > 200, `only ${matched} of the pairs matched: the generator is too wild`);
});

Deno.test("a pattern made to be slow is not", () => {
  const started = performance.now();
  assert.equal(matchesPattern("*a".repeat(100) + "b", "a".repeat(100_000)), false);
  assert.ok(performance.now() - started < 500);
});
