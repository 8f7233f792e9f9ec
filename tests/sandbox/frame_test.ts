import assert from "node:assert/strict";
import { createFrameReader, type Frame } from "../../src/sandbox/frame.ts";
import { seeded } from "../model/random.ts";

const LIMITS = { valueBytes: 10_000, depth: 16, parts: 500, calls: 50 };
const encoder = new TextEncoder();
const reader = () => {
  const read = createFrameReader("nonce", LIMITS);
  return (frame: unknown) => read(encoder.encode(typeof frame === "string" ? frame : JSON.stringify(frame)));
};
const call = (id: unknown, last: unknown = "{}", more = {}) => ({
  n: "nonce",
  t: "call",
  id,
  what: "a:b",
  last,
  ...more,
});

Deno.test("frames of the runner are read, whole or in parts", () => {
  const read = reader();
  assert.deepEqual(read({ n: "nonce", t: "log", level: "info", text: "x" }), { kind: "log", level: "info", text: "x" });
  assert.equal(read({ n: "nonce", t: "call", id: 1, what: "a:b", part: '{"a":' }), undefined);
  assert.deepEqual(read(call(1, "1}")), {
    kind: "ask",
    method: "call",
    id: 1,
    what: "a:b",
    value: { a: 1 },
    bytes: 7,
  });
  assert.deepEqual(read({ n: "nonce", t: "value", last: "[1]" }), { kind: "value", value: [1], bytes: 3, json: "[1]" });
  assert.equal(read(call(2))?.kind, "noise", "after its result a run says nothing more");
});

Deno.test("what is forged is noise, what breaks a rule ends the run", () => {
  for (
    const junk of [
      "",
      "x",
      "[]",
      "null",
      { t: "value", last: "1" },
      { n: "other", t: "value", last: "1" },
      "[".repeat(100),
    ]
  ) {
    assert.equal(reader()(junk)?.kind, "noise", JSON.stringify(junk));
  }
  for (
    const rule of [
      call(2),
      call(0),
      call("1"),
      call(1, 5),
      call(1, "{"),
      call(1, "[".repeat(50) + "]".repeat(50)),
      call(1, `[${"1,".repeat(600)}1]`),
      { n: "nonce", t: "call", id: 1, what: "a:b", part: "" },
      call(1, `"${"x".repeat(20_000)}"`),
      call(1, "{}", { what: "x".repeat(500) }),
      { n: "nonce", t: "call", id: 1, last: "{}" },
    ]
  ) assert.equal(reader()(rule)?.kind, "broken", JSON.stringify(rule).slice(0, 80));
  const replay = reader();
  replay(call(1));
  assert.equal(replay(call(1))?.kind, "broken", "the same number twice");
  assert.equal(replay(call(2))?.kind, "noise", "and nothing counts after that");
  const many = reader();
  for (let id = 1; id <= 50; id++) assert.equal(many(call(id))?.kind, "ask");
  assert.equal(many(call(51))?.kind, "broken");
});

Deno.test("fifty thousand malformed, oversized, replayed, reordered and forged frames: no throw, no call out of turn", () => {
  const random = seeded(11);
  const pick = <T>(list: readonly T[]): T => list[random.below(list.length)]!;
  let accepted = 0;
  for (let frames = 0; frames < 50_000;) {
    const read = reader();
    let next = 1;
    let isOver = false;
    for (let i = 0; i < 100; i++, frames++) {
      const frame = pick<() => unknown>([
        () => call(next),
        () => call(random.below(60)),
        () => call(pick([-1, 1.5, NaN, null, "1", {}, 2 ** 60])),
        () => call(next, random.text('{}[]",:01ae\\', 40)),
        () => ({
          n: pick(["nonce", "no", null, 1]),
          t: pick(["call", "value", "log", "error", "result", "__proto__"]),
          last: "1",
        }),
        () => ({
          n: "nonce",
          t: "error",
          error: pick([null, 1, { type: "__proto__", message: {} }, { type: "SyntaxError", line: -1 }]),
        }),
        () => JSON.stringify(call(next)).slice(0, random.below(60)),
        () => random.text('{}[]"nonce:,t\\u0000', 80),
        () => call(next, `"${"x".repeat(random.below(20_000))}"`),
      ])();
      const got: Frame | undefined = read(frame);
      if (got?.kind === "ask") {
        assert.ok(!isOver, "a call after the end");
        assert.equal(got.id, next, "a call out of order");
        next++;
        accepted++;
      }
      if (got?.kind === "value" || got?.kind === "error") isOver = true;
      if (got?.kind === "broken") break;
    }
  }
  assert.ok(accepted > 100, `${accepted} real calls were among them`);
});
