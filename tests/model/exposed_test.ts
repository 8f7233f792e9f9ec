import assert from "node:assert/strict";
import { exposedName, exposedUri, exposedUriParts } from "../../src/model/exposed.ts";
import { seeded } from "./random.ts";

Deno.test("a name that every client takes is the server's and the tool's, as they are", () => {
  assert.equal(exposedName("github", "create_issue"), "github__create_issue");
  assert.equal(exposedName("my-files", "read"), "my-files__read");
});

Deno.test("no two tools have the same name, however alike they are, and every name is one that clients take", () => {
  const { below } = seeded(7);
  const letters = ["a", "b", "_", "__", "-", ".", "0", "é", ":", "a1b2c3d4e5", "_0123456789"];
  const word = () => Array.from({ length: 1 + below(4) }, () => letters[below(letters.length)]!).join("");
  const seen = new Map<string, string>();
  for (let i = 0; i < 50_000; i++) {
    const [server, tool] = [`s${word()}`, word() + (i % 50 === 0 ? "x".repeat(100) : "")];
    const name = exposedName(server, tool);
    assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
    const id = JSON.stringify([server, tool]);
    assert.equal(seen.get(name) ?? id, id, `${name} would be both`);
    seen.set(name, id);
  }
  assert.notEqual(exposedName("a__b", "c"), exposedName("a", "b__c"));
  assert.notEqual(exposedName("a_", "b"), exposedName("a", "_b"));
});

Deno.test("a resource keeps its own address behind its server's name, templates too", () => {
  for (const uri of ["file:///a b/c", "test://x", "note://by/{id}", "urn:x:y", "a//b/"]) {
    assert.deepEqual(exposedUriParts(exposedUri("my_server.1", uri)), { server: "my_server.1", uri });
  }
  assert.equal(exposedUriParts("file:///x"), undefined);
  assert.equal(exposedUriParts("agentcards://nothing"), undefined);
});
