import assert from "node:assert/strict";
import { judgeAddress, spellings } from "../../src/policy/address.ts";

const DENY = { deny: ["fs:file:///srv/secret/*"], approve: [] };

Deno.test("an address is denied in every spelling", () => {
  for (
    const address of [
      "file:///srv/secret/key",
      "file:///srv//secret/key",
      "file:////srv///secret//key",
      "file://///srv/secret/key",
      "file:///%73rv/secret/key",
      "file:///srv/%2f/secret/key",
      "file:///srv/%252fsecret/key",
      "file:///srv/%25%32%66secret/key",
      "file:///srv/x/../secret/key",
      "file:///srv/x//../../srv/secret/key",
      "file:///srv/%2e/secret/key",
      "file:///srv/x/%252e%252e/secret/key",
      "file:///srv\\secret\\key",
      "FILE:///srv/secret/key",
      "file://localhost/srv/secret/key",
      "file:/srv/secret/key",
      "file:///srv/./secret/key?x#y",
      "file:///C:/../srv/secret/key",
      "file:///C:/..%2fsrv/secret/key",
      "file:///%ff%2f..%2fsrv/secret/key",
      "file://127.0.0.1/srv/secret/key",
      "x:/srv/secret/key",
      "//x/srv/secret/key",
    ]
  ) assert.equal(judgeAddress(DENY, "fs", address).kind, "deny", address);
  for (const address of ["file:///srv/public/key", "file:///srv/secretary/key", "file:///srv/100%/x", "note://x//y"]) {
    assert.equal(judgeAddress(DENY, "fs", address).kind, "allow", address);
  }
  assert.equal(judgeAddress(DENY, "other", "file:///srv/secret/key").kind, "allow");
  assert.equal(judgeAddress({ deny: [], approve: ["fs:*secret*"] }, "fs", "file:///%73ecret").kind, "approve");
});

Deno.test("what is allowed is allowed in every spelling, or not at all", () => {
  const rules = {
    deny: [],
    approve: [],
    allow: [{ allow: ["fs:file:///srv/my docs/*", "fs:file:///srv/caf%C3%A9/*"], approve: [] }],
  };
  const kind = (address: string) => judgeAddress(rules, "fs", address).kind;
  for (
    const address of [
      "file:///srv/my%20docs/a",
      "file:///srv/my docs/a b",
      "file:///srv/café/x",
      "file:///srv/caf%C3%A9/x%20y",
    ]
  ) assert.equal(kind(address), "allow", address);
  for (
    const address of [
      "file:///srv/other",
      "file:///srv/my%20docs/../other",
      "file:///srv/my%20docs/%2e%2e/other",
      "file:///srv/my%20docs/%252e%252e/other",
      "file:///srv/my%20docs/..%2fother",
      "file:///srv/my%20docs/..\\other",
      "file:///srv/my%20docs//..//../other",
    ]
  ) assert.equal(kind(address), "deny", address);
});

Deno.test("an address has few spellings, however it is written", () => {
  assert.ok(spellings(`file:///${"%25".repeat(3_000)}2f//`).length < 60);
  assert.deepEqual(spellings("plain"), ["plain"]);
});
