import assert from "node:assert/strict";
import { createRedactor, shapeOf } from "../../src/telemetry/redact.ts";

function redactorOf(...secrets: string[]) {
  const redactor = createRedactor();
  redactor.add(secrets);
  return redactor;
}

/** Letters that each form has to escape: quote, backslash, slash, plus, ampersand, space, newline, é and an emoji. */
const SECRET = 's3cr3t"\\/+&<% \né😀?~';

const bytesOf = (text: string) => new TextEncoder().encode(text);
const base64 = (text: string) => bytesOf(text).toBase64();
const escapeEach = (text: string, write: (unit: number) => string) =>
  Array.from({ length: text.length }, (_, i) => write(text.charCodeAt(i))).join("");
const hex4 = (unit: number) => unit.toString(16).padStart(4, "0");

Deno.test("a secret is taken out in every form in which it travels", () => {
  const redactor = redactorOf(SECRET);
  const ascii = (text: string) => text.replace(/[^\0-\x7f]/g, (unit) => `\\u${hex4(unit.charCodeAt(0))}`);
  const json = JSON.stringify(SECRET).slice(1, -1);
  const forms = {
    "as it is": SECRET,
    "NFD": SECRET.normalize("NFD"),
    "JSON": json,
    "JSON of Go": json.replace("&", "\\u0026").replace("<", "\\u003c"),
    "JSON of Python": ascii(json),
    "JSON of PHP": ascii(json).replace("/", "\\/"),
    "all escaped": escapeEach(SECRET, (unit) => `\\u${hex4(unit)}`),
    "all escaped, capitals": escapeEach(SECRET, (unit) => `\\u${hex4(unit).toUpperCase()}`),
    "some escaped": SECRET.replace("s3", "\\u00733").replace("r3t", "r\\u0033t"),
    "a URL": encodeURIComponent(SECRET),
    "a URL, small letters": encodeURIComponent(SECRET).replace(/%../g, (code) => code.toLowerCase()),
    "every byte of a URL": [...bytesOf(SECRET)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
    "a form": new URLSearchParams({ a: SECRET }).toString().slice(2),
    "HTML": SECRET.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"),
    "HTML by number": SECRET.replaceAll("&", "&#38;").replaceAll("<", "&#x3C;").replaceAll('"', "&#34;"),
    "hex": bytesOf(SECRET).toHex(),
    "hex in capitals": bytesOf(SECRET).toHex().toUpperCase(),
    "base64": base64(SECRET),
    "base64 without padding": bytesOf(SECRET).toBase64({ omitPadding: true }),
    "base64 of URLs": bytesOf(SECRET).toBase64({ alphabet: "base64url", omitPadding: true }),
    "base64 in a URL": encodeURIComponent(base64(SECRET)),
  };
  for (const [name, form] of Object.entries(forms)) {
    const text = redactor.redact(`before ${form} after, ${form}`);
    assert.match(text, /^before \[redacted\](?:=|%3D)* after, \[redacted\](?:=|%3D)*$/, name);
    assert.deepEqual(
      redactor.clean({ [form]: [form] }),
      JSON.parse(JSON.stringify(redactor.clean({ [form]: [form] }))),
    );
    const parsed = JSON.stringify(redactor.parse(JSON.stringify({ result: { text: `x ${form}` } })));
    assert.match(parsed, /x \[redacted\]/, `${name}, in a frame`);
  }
});

Deno.test("a secret within a longer base64 is found wherever it begins", () => {
  const secret = "hunter2-hunter3";
  const redactor = redactorOf(secret);
  for (const before of ["", "x", "xy", "user:", '{"token":"']) {
    for (const after of ["", "!", '"}', "\n.."]) {
      for (const alphabet of ["base64", "base64url"] as const) {
        const text = redactor.redact(bytesOf(before + secret + after).toBase64({ alphabet }));
        assert.match(text, /\[redacted\]/, `${before} ${after}`);
        const rest = text.split("[redacted]").map((part) => part.replace(/=+$/, ""));
        for (const part of rest) {
          const whole = part.slice(0, part.length - part.length % 4);
          assert.ok(!atob(whole.replaceAll("-", "+").replaceAll("_", "/")).includes("hunt"), "no piece of it is left");
        }
      }
    }
  }
});

Deno.test("media that hold a secret are withheld, others are passed on as they came", () => {
  const redactor = redactorOf("canary-12345");
  const image = (text: string) => ({ type: "image", mimeType: "image/png", data: base64(text) });
  const parse = (value: unknown) => redactor.parse(JSON.stringify(value));
  assert.deepEqual(parse([image("fine")]), [image("fine")]);
  for (
    const text of ["\x89PNG canary-12345", `x ${bytesOf("canary-12345").toHex()}`, `xx ${base64("u:canary-12345")}`]
  ) {
    assert.deepEqual(parse([image(text)]), [{
      type: "text",
      text: "[redacted] This image held a configured secret.",
    }]);
    assert.deepEqual(parse({ contents: [{ uri: "a://b", mimeType: "x/y", blob: base64(text) }] }), {
      contents: [{ uri: "a://b", mimeType: "text/plain", text: "[redacted] This file held a configured secret." }],
    });
  }
  const large = "x".repeat(2_000_000);
  assert.match(JSON.stringify(parse([image(`${large}canary-12345`)])), /withheld|redacted/);
});

Deno.test("a text of one million characters takes milliseconds, however many secrets there are", () => {
  const secrets = Array.from({ length: 200 }, () => crypto.randomUUID());
  const redactor = redactorOf(...secrets);
  const text = "the quick brown fox %20 jumps over the lazy dog ".repeat(21_000);
  const began = performance.now();
  assert.equal(redactor.redact(text), text);
  // 5 ms on a quiet machine.
  assert.ok(performance.now() - began < 500);
  assert.equal(redactor.redact(`${text}${secrets[199]}`), `${text}[redacted]`);
});

Deno.test("no text takes long, even one that is made for it", () => {
  const secret = 'pass"word\\1';
  const redactor = redactorOf(secret, "other-secret");
  const spelt = escapeEach(secret, (unit) => `\\u${hex4(unit)}`);
  for (const piece of ["\\", "\\u", "\\u0", "%", "%5", "%5c", "&#", "&#0", "&amp", "\\u005c", "p", "\\p", "&#92;"]) {
    const text = piece.repeat(100_000 / piece.length);
    const began = performance.now();
    assert.ok(!redactor.redact(text + spelt + text).includes(spelt), piece);
    // 20 ms on a quiet machine.
    assert.ok(performance.now() - began < 5_000, piece);
  }
});

Deno.test("short values are left alone: they would tear up every text", () => {
  const redactor = redactorOf("", "a", "1234567", "Bearer x", "test");
  assert.equal(redactor.redact("a test 1234567 x"), "a test 1234567 x");
  assert.deepEqual(redactorOf("", "1234567").values(), []);
});

Deno.test("a secret is text, not a regular expression", () => {
  const redactor = redactorOf(".*.*.*.*", "(a+)+$^[x]|", "a|b|c|d|e", "$&$1$`$'");
  assert.equal(redactor.redact("nothing here"), "nothing here");
  for (const secret of [".*.*.*.*", "(a+)+$^[x]|", "a|b|c|d|e", "$&$1$`$'"]) {
    assert.equal(redactor.redact(`<${secret}>`), "<[redacted]>", secret);
  }
  const started = performance.now();
  redactor.redact("a".repeat(1_000_000));
  assert.ok(performance.now() - started < 1_000);
});

Deno.test("of two secrets of which one begins the other, the longer one goes", () => {
  assert.equal(redactorOf("abcdefgh", "abcdefghijkl").redact("abcdefghijkl abcdefgh"), "[redacted] [redacted]");
});

Deno.test("secrets can come later, and half a character in one does no harm", () => {
  const redactor = createRedactor();
  assert.equal(redactor.redact("later-secret"), "later-secret");
  redactor.add(["later-secret"]);
  redactor.add([]);
  redactor.add(["\ud800 a broken secret"]);
  assert.equal(redactor.redact("later-secret \ud800 a broken secret"), "[redacted] [redacted]");
  const copy = createRedactor();
  copy.add(redactor.values());
  assert.equal(copy.redact("later-secret"), "[redacted]");
});

Deno.test("shapeOf() tells kinds and sizes, never contents", () => {
  const value = { path: "/etc/passwd", limit: 3, list: ["x"], none: null, deep: { a: { b: { c: "secret" } } } };
  assert.equal(
    shapeOf(value),
    "{path: string(11), limit: number, list: array(1), none: null, deep: {a: {b: object}}}",
  );
  assert.ok(shapeOf(Object.fromEntries(Array.from({ length: 999 }, (_, i) => ["k".repeat(99) + i, 1]))).length < 1_100);
});

Deno.test("a secret in base64 that is broken into lines, or of JSON, is not shown", () => {
  const redactor = redactorOf("p4ss&w0rd<7\"kQz9'vT");
  const whole = base64(
    `{"user":"ada","password":${JSON.stringify("p4ss&w0rd<7\"kQz9'vT")},"more":"${"x".repeat(80)}"}`,
  );
  assert.doesNotMatch(redactor.redact(whole), new RegExp(whole.slice(24, 50)));
  for (const width of [20, 52]) {
    const lines = whole.match(new RegExp(`.{1,${width}}`, "g"))!.join("\n");
    assert.equal(redactor.redact(lines), "[redacted]");
    assert.deepEqual(redactor.parse(JSON.stringify({ text: lines })), { text: "[redacted]" });
  }
  const innocent = base64("y".repeat(300)).match(/.{1,76}/g)!.join("\n");
  assert.equal(redactor.redact(innocent), innocent);
});
