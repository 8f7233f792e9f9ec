import assert from "node:assert/strict";
import { canonicalJson, deepFreeze, isObject, type Json, jsonDepth, sha256 } from "../../src/model/json.ts";
import { type Random, seeded } from "./random.ts";

const encode = (text: string) => new TextEncoder().encode(text);

function value(random: Random, depth: number): Json {
  const kind = random.below(depth > 0 ? 7 : 5);
  if (kind === 0) return null;
  if (kind === 1) return random.below(2) === 0;
  if (kind === 2) return random.below(1_000) - 500;
  if (kind < 5) return random.text('ab"\\[]{}\n😀é', 6);
  if (kind === 5) return Array.from({ length: random.below(4) }, () => value(random, depth - 1));
  return Object.fromEntries(
    Array.from({ length: random.below(5) }, () => [random.text('ab12"_', 4), value(random, depth - 1)]),
  );
}

function shuffled(random: Random, item: Json): Json {
  if (Array.isArray(item)) return item.map((inner) => shuffled(random, inner));
  if (!isObject(item)) return item;
  const entries = Object.entries(item).map(([key, inner]) => [key, shuffled(random, inner as Json)] as const);
  for (let i = entries.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [entries[i], entries[j]] = [entries[j]!, entries[i]!];
  }
  return Object.fromEntries(entries);
}

function depthOf(item: Json): number {
  if (Array.isArray(item)) return 1 + Math.max(0, ...item.map(depthOf));
  return isObject(item) ? 1 + Math.max(0, ...Object.values(item).map((inner) => depthOf(inner as Json))) : 0;
}

Deno.test("canonicalJson() does not depend on the order of keys and loses nothing", () => {
  const random = seeded(1);
  for (let i = 0; i < 500; i++) {
    const one = value(random, 4);
    assert.equal(canonicalJson(shuffled(random, one)), canonicalJson(one));
    assert.deepEqual(JSON.parse(canonicalJson(one)), one);
  }
});

Deno.test("canonicalJson() tells apart what differs, keys named like the prototype included", () => {
  const texts = ['{"a":1}', '{"a":"1"}', "[1]", '{"a":[1]}', '{"__proto__":1}', "{}", "null", "[]", '{"a":null}'];
  assert.equal(new Set(texts.map((text) => canonicalJson(JSON.parse(text)))).size, texts.length);
  assert.equal(canonicalJson(JSON.parse('{"b":1,"__proto__":{"d":1,"c":2}}')), '{"__proto__":{"c":2,"d":1},"b":1}');
});

Deno.test("jsonDepth() counts as a parser would, on bytes", () => {
  const random = seeded(2);
  for (let i = 0; i < 500; i++) {
    const one = value(random, 5);
    assert.equal(jsonDepth(encode(JSON.stringify(one)), 100), depthOf(one), JSON.stringify(one));
  }
  assert.equal(jsonDepth(encode('{"a\\"[[[":"[[[{{"}'), 100), 1);
  assert.equal(jsonDepth(encode("[".repeat(1_000_000)), 256), 257);
  assert.equal(jsonDepth(encode("[".repeat(256)), 256), 256);
});

Deno.test("deepFreeze() freezes every level and stands loops", () => {
  const loop: Record<string, unknown> = { list: [{ inner: {} }] };
  loop.self = loop;
  deepFreeze(loop);
  assert.throws(() => ((loop.list as Record<string, unknown>[])[0]!.inner as Record<string, unknown>).x = 1, TypeError);
  assert.throws(() => (loop.list as unknown[]).push(1), TypeError);
});

Deno.test("sha256() is the usual one, in hex", async () => {
  assert.equal(await sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});
