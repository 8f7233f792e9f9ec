import assert from "node:assert/strict";
import { bindRequest } from "../../src/suggest/english/bind.ts";
import { literalsIn } from "../../src/suggest/english/literals.ts";
import { actionsOf } from "../../src/suggest/english/segments.ts";
import { sketchOf } from "../../src/suggest/english/sketch.ts";
import type { JsonObject } from "../../src/model/json.ts";

const text = { type: "string" };
const tool = (name: string, properties: Record<string, JsonObject>, required: string[] = [], description = "") => ({
  ...sketchOf({ name, description, inputSchema: { type: "object", properties, required } }),
  reads: /^(get|list|read|search)/.test(name),
});

function bound(request: string, ...tools: ReturnType<typeof tool>[]) {
  return bindRequest(request, tools).map((call) =>
    Object.fromEntries(Object.entries(call.bound).map(([name, { value }]) => [name, value]))
  );
}

Deno.test("what is meant to the letter is found, each by its kind, lists as one", () => {
  const kinds = (request: string) => literalsIn(request).map(({ kind, text: said, list }) => [kind, ...list ?? [said]]);
  assert.deepEqual(kinds('post "all done" to C05OPS2X1'), [["quoted", "all done"], ["code", "C05OPS2X1"]]);
  assert.deepEqual(kinds("add a.txt, b.txt and c.txt"), [["file", "a.txt", "b.txt", "c.txt"]]);
  assert.deepEqual(kinds("mail ann@acme.io about https://acme.io/x?y=1."), [
    ["email", "ann@acme.io"],
    ["url", "https://acme.io/x?y=1"],
  ]);
  assert.deepEqual(kinds("run SELECT a FROM b WHERE c = 'd' on the database"), [[
    "sql",
    "SELECT a FROM b WHERE c = 'd'",
  ]]);
  assert.deepEqual(kinds('search with {"query": {"match": 1}} now'), [["json", '{"query": {"match": 1}}']]);
  assert.deepEqual(kinds("on 2025-07-08 from 15:00, 800x600, B2:F40"), [
    ["date", "2025-07-08"],
    ["time", "15:00"],
    ["size", "800x600"],
    ["range", "B2:F40"],
  ]);
});

Deno.test("values go where names, kinds and prepositions say; what two could take is left alone", () => {
  const move = tool("move_file", { source: text, destination: text }, ["source", "destination"]);
  assert.deepEqual(bound("Please rename /a/draft.csv to /b/final.csv. Marta signed it off.", move), [
    { source: "/a/draft.csv", destination: "/b/final.csv" },
  ]);
  const issue = tool("create_issue", {
    owner: text,
    repo: text,
    title: text,
    labels: { type: "array", items: text },
    state: { type: "string", enum: ["open", "closed"] },
    draft: { type: "boolean" },
    limit: { type: "integer" },
  }, ["owner", "repo", "title"]);
  assert.deepEqual(
    bound('File a closed draft issue titled "It breaks" in acme/site with the labels bug and ui', issue),
    [{
      owner: "acme",
      repo: "site",
      title: "It breaks",
      labels: ["bug", "ui"],
      state: "closed",
      draft: true,
    }].map((one) => one),
  );
  assert.deepEqual(bound("the first 20 issues of acme/site", issue), [{ owner: "acme", repo: "site", limit: 20 }]);
  const pair = tool("pair", { left: text, right: text }, ["left", "right"]);
  assert.deepEqual(bound('do it with "x"', pair), [{}], "nobody can say which of them it is");
});

Deno.test("what is not said is missing, what was read goes on, and calls of one request share their place", () => {
  const read = tool("read_file", { path: text }, ["path"]);
  const post = tool("post_message", { channel_id: text, text }, ["channel_id", "text"]);
  const [, posted] = bindRequest("Read /var/log/app.log and post it into the channel C05OPS2X1", [read, post]);
  assert.deepEqual(Object.keys(posted!.bound), ["channel_id"]);
  assert.deepEqual(posted!.fed.map(({ from, parameter }) => [from, parameter]), [[0, "text"]]);
  const [alone] = bindRequest("post something into the channel C05OPS2X1", [post]);
  assert.deepEqual(alone!.missing.map(({ name }) => name), ["text"]);
  const branch = tool("create_branch", { owner: text, repo: text, branch: text }, ["owner", "repo", "branch"]);
  const pull = tool("create_pull_request", { owner: text, repo: text, title: text }, ["owner", "repo", "title"]);
  const both = bound("In acme/site create the branch fix/x, then create a pull request titled 'Fix x'", branch, pull);
  assert.deepEqual(both, [
    { owner: "acme", repo: "site", branch: "fix/x" },
    { owner: "acme", repo: "site", title: "Fix x" },
  ]);
});

Deno.test("a request is taken apart where something is to be done, not inside of what is said", () => {
  const parts = (request: string) => actionsOf(request, literalsIn(request)).clauses.map((clause) => clause.trim());
  assert.deepEqual(parts('Read a.txt, b.txt and c.txt, then post "read and done" to Slack'), [
    "Read a.txt, b.txt and c.txt, then",
    'post "read and done" to Slack',
  ]);
  assert.deepEqual(parts("I am tired and it rains"), ["I am tired and it rains"]);
  assert.equal(actionsOf("GitHub, acme/site: create a branch, push the files", []).clauses.length, 2);
});

Deno.test("hostile requests and schemas are bound in no time", () => {
  const began = performance.now();
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`parameter_${i}`, text]));
  const wide = tool("wide", { ...many, ["__proto__"]: text, constructor: text }, Object.keys(many));
  for (
    const request of [
      "[".repeat(4_000),
      "{".repeat(2_000) + "}".repeat(2_000),
      "'".repeat(4_000),
      "a/".repeat(2_000),
      "SELECT ".repeat(500),
      "and then ".repeat(400),
      "a.b".repeat(1_300),
      "1,".repeat(2_000),
    ]
  ) bindRequest(request, [wide, wide]);
  assert.ok(performance.now() - began < 15_000, `${Math.round(performance.now() - began)} ms`);
});
