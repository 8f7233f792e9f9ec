import assert from "node:assert/strict";
import { coalesce, createLineSplitter, TOO_LONG } from "../../src/model/lines.ts";
import { seeded } from "./random.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (line: Uint8Array | typeof TOO_LONG) => line === TOO_LONG ? TOO_LONG : new TextDecoder().decode(line);

Deno.test("a line comes out whole however it was chopped, and only once it ended", () => {
  const split = createLineSplitter(100);
  assert.deepEqual(split(encode("a")), []);
  assert.deepEqual(split(encode("")), []);
  assert.deepEqual(split(encode("b\nc")).map(decode), ["ab"]);
  assert.deepEqual(split(encode("\n\nd\n")).map(decode), ["c", "", "d"]);
});

Deno.test("a line that is too long is said once, and the next one is read again", () => {
  const split = createLineSplitter(4);
  assert.deepEqual(split(encode("abcd\nabcde\nok\n")).map(decode), ["abcd", TOO_LONG, "ok"]);
  assert.deepEqual(split(encode("abc")), []);
  assert.deepEqual(split(encode("de")), []);
  assert.deepEqual(split(encode("f".repeat(1_000))), []);
  assert.deepEqual(split(encode("\nok\nx")).map(decode), [TOO_LONG, "ok"]);
  assert.deepEqual(split(encode("yz\n")).map(decode), ["xyz"]);
});

Deno.test("an unfinished line does not change when its chunk is used again", () => {
  const split = createLineSplitter(100);
  const buffer = encode("first");
  split(buffer);
  buffer.fill(0x58);
  assert.deepEqual(split(encode("\n")).map(decode), ["first"]);
});

Deno.test("any text in any chunks gives the lines that splitting it at once gives", () => {
  const random = seeded(3);
  for (let round = 0; round < 300; round++) {
    const most = 1 + random.below(12);
    const text = random.text("ab\n\n😀é", 60) + "\n";
    const expected = text.split("\n").slice(0, -1).map((line) => encode(line).length > most ? TOO_LONG : line);
    const split = createLineSplitter(most);
    const found: (string | typeof TOO_LONG)[] = [];
    const bytes = encode(text);
    for (let at = 0; at < bytes.length;) {
      const end = at + random.below(8);
      found.push(...split(bytes.subarray(at, end)).map(decode));
      at = Math.max(at, end);
    }
    assert.deepEqual(found, expected, JSON.stringify({ text, most }));
  }
});

Deno.test("coalesce() writes once a turn, in order, and a single write as it is", async () => {
  const written: Uint8Array[] = [];
  const write = coalesce((bytes) => written.push(bytes));
  const single = encode("one");
  write(single);
  assert.equal(written.length, 0);
  await Promise.resolve();
  assert.equal(written[0], single, "no copy");
  for (const part of ["a", "", "bc", "d"]) write(encode(part));
  await Promise.resolve();
  assert.deepEqual(written.slice(1).map(decode), ["abcd"]);
  await Promise.resolve();
  assert.equal(written.length, 2, "nothing is written twice");
});

Deno.test("coalesce() keeps what is written while it writes for the next turn", async () => {
  const written: string[] = [];
  const write = coalesce((bytes) => {
    written.push(String(decode(bytes)));
    if (written.length === 1) write(encode("later"));
  });
  write(encode("now"));
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(written, ["now", "later"]);
});
