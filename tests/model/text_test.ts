import assert from "node:assert/strict";
import { cut, nearest, oneLine, sanitise, tokens } from "../../src/model/text.ts";
import { seeded } from "./random.ts";

Deno.test("sanitise() takes out what moves a cursor, hides text or flips it, and keeps the rest", () => {
  const hostile = {
    "colour": ["\x1b[31mred\x1b[0m", "red"],
    "cursor": ["a\x1b[2J\x1b[1;1Hb", "ab"],
    "title": ["a\x1b]0;owned\x07b", "ab"],
    "title, other end": ["a\x1b]8;;http://x\x1b\\b", "ab"],
    "C1": ["a\u009bb", "ab"],
    "carriage return": ["safe\rrm -rf", "saferm -rf"],
    "backspace": ["a\b\bb", "ab"],
    "bidi override": ["a\u202egpj.exe", "agpj.exe"],
    "bidi isolate": ["a\u2066b\u2069c", "abc"],
    "zero width": ["a\u200bb\u200dc\ufeffd", "abcd"],
    "soft hyphen": ["a\u00adb", "ab"],
    "tags": ["a\u{e0041}\u{e0042}b", "ab"],
    "variation selectors that carry bytes": ["a\u{e0100}\u{e01ef}\ufe00b", "ab"],
    "Unicode line ends": ["a\u2028b\u2029c", "abc"],
    "NUL": ["a\0b", "ab"],
    "escape inside an escape": ["\x1b\x1b[31m[31mx", "[31mx"],
  } as const;
  for (const [name, [from, to]] of Object.entries(hostile)) assert.equal(sanitise(from), to, name);
  for (const kept of ["tab\tand\nline", "naïve 日本語 emoji 😀 ❤️", "", "a [31m b"]) assert.equal(sanitise(kept), kept);
});

Deno.test("oneLine() leaves one line without edges", () => {
  assert.equal(oneLine("  a\n\n b\t c\r\n"), "a b c");
  assert.equal(oneLine("abcdef", 4), "abc…");
});

Deno.test("cut() never gives more than it was told, nor half a character", () => {
  assert.equal(cut("abc", 3), "abc");
  assert.equal(cut("abcd", 3), "ab…");
  assert.equal(cut("abcd", 1), "…");
  assert.equal(cut("abcd", 0), "");
  assert.equal(cut("", 0), "");
  assert.equal(cut("a😀b", 3), "a…");
  for (let length = 0; length < 12; length++) {
    const text = cut("😀😀x😀😀", length);
    assert.ok(text.length <= length && text.isWellFormed(), `${length}: ${text}`);
  }
});

Deno.test("tokens() counts four characters as one", () => {
  assert.deepEqual([tokens(""), tokens("a"), tokens("abcd"), tokens("abcde"), tokens(9)], [0, 1, 1, 2, 3]);
});

Deno.test("nearest() finds slips, swaps and parts, nearest first, and nothing far away", () => {
  const keys = ["command", "args", "env", "cwd", "url", "headers", "timeout", "start_timeout"];
  assert.deepEqual(nearest("comand", keys), ["command"]);
  assert.deepEqual(nearest("Command", keys)[0], "command");
  assert.deepEqual(nearest("timout", keys)[0], "timeout");
  assert.deepEqual(nearest("header", keys)[0], "headers");
  assert.deepEqual(nearest("zzzzzzzz", keys), []);
  assert.equal(nearest("timeout", keys, 1).length, 1);
  assert.deepEqual(nearest("x", []), []);
  assert.deepEqual(nearest("a".repeat(100_000), keys), []);
});

Deno.test("nearest() finds what a full edit distance finds, within its bounds", () => {
  const random = seeded(7);
  const word = () => `${"abc"[random.below(3)]}cab${random.text("abc", 8)}`.slice(random.below(2));
  for (let i = 0; i < 300; i++) {
    const [asked, other] = [word(), word()];
    const far = Math.max(2, Math.floor(asked.length * 0.4));
    const isNear = other.includes(asked) || asked.includes(other) || other.startsWith(asked.slice(0, 3)) ||
      distance(asked, other) <= far;
    assert.equal(nearest(asked, [other]).length === 1, isNear, `${asked} ${other}`);
  }
});

Deno.test("nearest() takes little time however many and long the names are", () => {
  const names = Array.from({ length: 20_000 }, (_, i) => `${String(i).padStart(7, "0")}${"abcdefghij".repeat(12)}`);
  const began = performance.now();
  for (let i = 0; i < 10; i++) nearest(`00a${i}b1x${"abcdefghij".repeat(11)}`, names);
  assert.ok(performance.now() - began < 5_000, `${performance.now() - began} ms`);
});

/** The plain Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length]!;
}
