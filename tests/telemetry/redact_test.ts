import assert from "node:assert/strict";
import { createRedactor, shapeOf } from "../../src/telemetry/redact.ts";

function redactorOf(...secrets: string[]) {
  const redactor = createRedactor();
  redactor.add(secrets);
  return redactor;
}

/** Letters that each form has to escape: quote, backslash, slash, plus, ampersand, space, newline, é and an emoji. */
const SECRET = 's3cr3t"\\/+&<% \né😀?~';

Deno.test("a secret is taken out in every form in which it travels", () => {
  const redactor = redactorOf(SECRET);
  const bytes = new TextEncoder().encode(SECRET);
  const ascii = (text: string) =>
    text.replace(/[^\0-\x7f]/g, (unit) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0"));
  const json = JSON.stringify(SECRET).slice(1, -1);
  const forms = {
    "as it is": SECRET,
    "JSON": json,
    "JSON of Go": json.replace("&", "\\u0026").replace("<", "\\u003c"),
    "JSON of Python": ascii(json),
    "JSON of PHP": ascii(json).replace("/", "\\/"),
    "a URL": encodeURIComponent(SECRET),
    "base64": bytes.toBase64(),
    "base64 without padding": bytes.toBase64({ omitPadding: true }),
    "base64 of URLs": bytes.toBase64({ alphabet: "base64url", omitPadding: true }),
  };
  for (const [name, form] of Object.entries(forms)) {
    const text = redactor.redact(`before ${form} after, ${form}`);
    assert.match(text, /^before \[redacted\]=* after, \[redacted\]=*$/, name);
  }
});

Deno.test("of a header's value the credential alone is taken out too", () => {
  const redactor = redactorOf("Bearer abcdefgh12345");
  assert.equal(redactor.redact("token abcdefgh12345."), "token [redacted].");
  assert.equal(redactor.redact("Authorization: Bearer abcdefgh12345"), "Authorization: [redacted]");
  const encoded = new TextEncoder().encode("abcdefgh12345").toBase64({ omitPadding: true });
  assert.equal(redactor.redact(encoded), "[redacted]");
  assert.equal(redactor.redact("Bearer something else"), "Bearer something else");
});

Deno.test("short values are left alone: they would tear up every text", () => {
  const redactor = redactorOf("", "a", "1234567", "Bearer x", "test");
  assert.equal(redactor.redact("a test 1234567 x"), "a test 1234567 x");
  assert.deepEqual(redactorOf("", "1234567").forms(), []);
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
  copy.add(redactor.forms());
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
