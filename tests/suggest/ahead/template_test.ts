import assert from "node:assert/strict";
import { instancesOf, namesFit, type PastCall, templateOf } from "../../../src/suggest/ahead/template.ts";
import { valuesOf } from "../../../src/suggest/ahead/text_leaves.ts";

const call = (tool: string, args: PastCall["arguments"], output: unknown): PastCall => ({
  tool,
  call: tool,
  arguments: args,
  leaves: valuesOf(output),
  reads: true,
});

Deno.test("a template stands for every item of a list, with the other arguments of the same item", () => {
  const before = [
    call("s:list", { owner: "ann" }, { items: [{ id: "i-1", day: "mon-1" }, { id: "i-2", day: "tue-2" }] }),
  ];
  const template = templateOf(call("s:get", { id: "i-1", day: "mon-1", owner: "ann", limit: 5 }, {}), before)!;
  assert.equal(template.anchor, "s:list");
  assert.equal(namesFit(template), true);
  assert.deepEqual(instancesOf(template, before).map((one) => one.arguments), [
    { limit: 5, owner: "ann", id: "i-1", day: "mon-1" },
    { limit: 5, owner: "ann", id: "i-2", day: "tue-2" },
  ]);
});

Deno.test("a template joins a folder and the names in it", () => {
  const before = [call("fs:list", { path: "/tmp/notes" }, [{ name: "a.txt" }, { name: "b.txt" }])];
  const template = templateOf(call("fs:read", { path: "/tmp/notes/a.txt" }, ""), before)!;
  assert.deepEqual(instancesOf(template, before).map((one) => one.arguments.path), [
    "/tmp/notes/a.txt",
    "/tmp/notes/b.txt",
  ]);
});

Deno.test("a template whose call was not made gives nothing", () => {
  const before = [call("s:list", {}, { items: ["aaaa", "bbbb"] })];
  const template = templateOf(call("s:get", { id: "aaaa" }, {}), before)!;
  assert.deepEqual(instancesOf(template, [call("s:other", {}, {})]), []);
});

Deno.test("values stand in plain texts as in JSON: pairs by their key, addresses and files", () => {
  const text =
    "- id_: '17'\n  subject: Report\n- id_: '18'\n  subject: Again\nsee https://example.com/a/b and notes.txt";
  const found = new Map(valuesOf(text).map(({ path, value }) => [path.join("/"), value]));
  assert.deepEqual([found.get("id_/0"), found.get("id_/1"), found.get("subject/1")], ["17", "18", "Again"]);
  assert.deepEqual([found.get("url/0"), found.get("file/0")], ["https://example.com/a/b", "notes.txt"]);
});
