import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { foldArguments } from "../../src/model/fold.ts";

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 16);

Deno.test("what is short is shown whole, and nothing in it is invisible", () => {
  assert.deepEqual(foldArguments({ to: "a", n: 1 }), { text: '{\n  "to": "a",\n  "n": 1\n}', folded: 0 });
  assert.match(foldArguments({ to: "a\u200bb\u202e" })!.text, /a\\u200bb\\u202e/);
  assert.deepEqual(foldArguments({}), { text: "{}", folded: 0 });
});

Deno.test("every argument is there by its name, the short ones whole, the long ones with length and hash", () => {
  const long = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`text${i}`, `${i}`.repeat(2_000)]));
  const { text, folded } = foldArguments({ ...long, recipient: "attacker@evil.example" })!;
  assert.match(text, /^recipient: "attacker@evil\.example"$/m);
  for (const [name, value] of Object.entries(long)) {
    assert.ok(text.includes(`${name}: "`) && text.includes(hashOf(value)), name);
  }
  assert.equal(folded, 30);
  assert.ok(text.length < 12_000, `${text.length}`);
});

Deno.test("a long text inside of an argument is folded by itself: what stands beside it is seen", () => {
  const body = "x".repeat(5_000);
  const { text } = foldArguments({ mail: { body, to: ["victim", "attacker@evil.example"], more: body } })!;
  assert.match(text, /"to":\["victim","attacker@evil\.example"\]/);
  assert.match(text, /4,920 characters are not shown here, of 5,000, SHA-256/);
  assert.ok(text.includes(hashOf(body)));
});

Deno.test("a huge value, a long name and very many parts are bounded; too many arguments are not shown at all", () => {
  const zero = "\u200b".repeat(5_000_000);
  for (
    const given of [
      { text: zero },
      { text: { deep: [zero] } },
      { ["n".repeat(100_000)]: "x" },
      { list: Array.from({ length: 200_000 }, (_, i) => i) },
      { rows: Array.from({ length: 1_000 }, (_, i) => ({ i })), to: "a" },
    ]
  ) {
    const { text, folded } = foldArguments(given)!;
    assert.ok(text.length < 20_000, `${text.length}`);
    assert.ok(folded > 0 && /SHA-256 [0-9a-f]{16}/.test(text));
  }
  assert.equal(foldArguments(Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`a${i}`, i]))), undefined);
});
