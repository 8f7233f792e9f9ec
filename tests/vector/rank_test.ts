import assert from "node:assert/strict";
import type { JsonObject } from "../../src/model/json.ts";
import type { Tool } from "../../src/model/tool.ts";
import { buildLexicalIndex } from "../../src/vector/bm25.ts";
import { createNameFinder } from "../../src/vector/named.ts";
import { readQuery } from "../../src/vector/query.ts";
import { rank, scoreWords } from "../../src/vector/rank.ts";
import { lexicalTerms, toolText } from "../../src/vector/tool_text.ts";
import { splitWords, terms } from "../../src/model/words.ts";

function tool(id: string, description = "", properties: JsonObject = {}): Tool {
  const [server, name] = id.split(":") as [string, string];
  return { id, server, name, description, inputSchema: { type: "object", properties }, hash: id };
}

Deno.test("words of every spelling fall together", () => {
  assert.deepEqual(splitWords("createPullRequest"), ["create", "Pull", "Request"]);
  assert.deepEqual(splitWords("XMLHttpRequest_v2-list"), ["XML", "Http", "Request", "v2", "list"]);
  assert.deepEqual(terms("Listing the repositories, please"), terms("list repository"));
  assert.deepEqual(terms("Übersicht größer"), ["übersicht", "größer"]);
  assert.deepEqual(terms("x".repeat(40)), []);
});

Deno.test("a tool made to be slow is not", () => {
  const loud = "A".repeat(200_000);
  const properties = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, i) => [`${loud.slice(0, 500)}${i}`, { description: loud }]),
  );
  const slow = tool("s:t", loud, properties as JsonObject);
  const began = performance.now();
  lexicalTerms(slow);
  const { parts } = toolText(slow);
  assert.ok(performance.now() - began < 500);
  assert.ok(parts.every(({ text }) => text.length < 2_000));
});

Deno.test("a request loses its courtesies and falls into its sentences", () => {
  const { steps } = readQuery("Hello! Could you please list my issues. Then I want to close them.");
  assert.deepEqual(steps, ["list my issues.", "Then close them."]);
  assert.equal(readQuery("can you help me").text, "can you help me");
  assert.equal(readQuery(`decode ${"A".repeat(500)} now`).text, "decode   now");
  assert.ok(readQuery(Array.from({ length: 30 }, (_, i) => `Do thing ${i}.`).join(" ")).steps.length <= 8);
  assert.ok(readQuery("x ".repeat(100_000)).text.length <= 2_000);
});

Deno.test("a rare word in a name outweighs common words in a long description", () => {
  const tools = [
    tool("a:list_files", "Lists files. ".repeat(20)),
    tool("a:resize", "Changes an image"),
    tool("b:list_users"),
  ];
  const index = buildLexicalIndex(tools.map((one) => lexicalTerms(one)));
  const scores = index.score(terms("list files to resize"));
  assert.ok(scores[1]! > scores[2]!);
  assert.deepEqual([...index.score(terms("zebra"))], [0, 0, 0]);
});

Deno.test("names: as written, spoken, announced, quoted or just mentioned", () => {
  const tools = ["sentry:search_events", "calendar:search-events", "mongo:find", "elastic:search", "kusto:whoami"]
    .map((id) => tool(id));
  const names = createNameFinder(tools, (word) => word === "whoami");
  const named = (query: string) => [...names(query).named].sort((a, b) => b[1] - a[1]).map(([i]) => tools[i]!.id);
  assert.deepEqual(named("search_events"), ["sentry:search_events", "calendar:search-events"]);
  assert.deepEqual(named("calendar:search-events")[0], "calendar:search-events");
  assert.deepEqual(named("what does SEARCH_EVENTS, do?"), ["sentry:search_events"]);
  assert.deepEqual(named("please use find to do the thing"), ["mongo:find"]);
  assert.deepEqual(named("the `search` of elastic"), ["elastic:search"]);
  assert.deepEqual(named("find a good search engine"), []);
  assert.deepEqual(names("tell me whoami on this box").mentioned, [4]);
  assert.deepEqual(names("find a good search engine").mentioned, []);
  assert.deepEqual(named("What can I find? And how do I search."), [], "a full stop does not make a name");
  assert.deepEqual(named("what does it mean: sentry:search_events?"), ["sentry:search_events"]);
});

Deno.test("rank() puts what is named first, shows what is mentioned, and knows when nothing fits", () => {
  const tools = [tool("a:one", "alpha beta"), tool("a:two", "gamma delta"), tool("a:three", "epsilon zeta")];
  const words = scoreWords(buildLexicalIndex(tools.map((one) => lexicalTerms(one))), readQuery("gamma delta"));
  const meaning = (tools: number[], world: number) =>
    ({
      kind: "scores",
      tools: { whole: Float32Array.from(tools) },
      world: { whole: Float32Array.of(world) },
      missing: 0,
      earlier: new Float32Array(),
    }) as const;
  const names = { named: new Map<number, number>(), mentioned: [] as number[] };
  const order = (request: Parameters<typeof rank>[0]) => rank(request).best.map(({ index }) => index);
  const request = { words, meaning: meaning([0.1, 0.6, 0.2], 0.4), names, limit: 3 };
  assert.deepEqual(order(request), [1, 2, 0]);
  assert.equal(rank(request).fits, true);
  assert.deepEqual(order({ ...request, names: { ...names, named: new Map([[0, 2]]) } }), [0, 1, 2]);
  assert.deepEqual(order({ ...request, limit: 2, names: { ...names, mentioned: [0] } }), [1, 0]);
  const both = { named: new Map([[0, 2], [1, 2]]), mentioned: [2] };
  assert.deepEqual(order({ ...request, limit: 2, names: both }), [1, 0], "what is named is not pushed out");
  const stranger = scoreWords(buildLexicalIndex(tools.map((one) => lexicalTerms(one))), readQuery("order pizza"));
  const elsewhere = { ...request, words: stranger, meaning: meaning([0.1, 0.2, 0.15], 0.8) };
  assert.equal(rank(elsewhere).fits, false);
  assert.equal(
    rank({ ...elsewhere, names: { ...names, named: new Map([[0, 2]]) } }).fits,
    true,
    "a named tool is shown",
  );
  const unavailable = { kind: "unavailable", why: "test" } as const;
  assert.deepEqual(order({ ...request, meaning: unavailable })[0], 1);
  assert.equal(rank({ ...request, words: stranger, meaning: unavailable }).fits, false);
});

Deno.test("a tool without a vector yet is ranked by its words", () => {
  const tools = [tool("a:one", "alpha beta"), tool("a:two", "gamma delta"), tool("a:three", "epsilon zeta")];
  const words = scoreWords(buildLexicalIndex(tools.map((one) => lexicalTerms(one))), readQuery("gamma delta"));
  const scores = { whole: Float32Array.of(0.3, NaN, 0.2) };
  const none = new Float32Array();
  const meaning = { kind: "scores", tools: scores, world: { whole: none }, earlier: none, missing: 1 } as const;
  const { best, fits } = rank({ words, meaning, names: { named: new Map(), mentioned: [] }, limit: 3 });
  assert.equal(best[0]!.index, 1);
  assert.equal(fits, true);
});

Deno.test("a tool's text changes with what it says, and only then", () => {
  const a = tool("s:read_file", "Reads a file.", { path: { type: "string" } });
  assert.equal(toolText(a).hash, toolText({ ...a, id: "other:read_file", hash: "x" }).hash);
  assert.notEqual(toolText(a).hash, toolText({ ...a, description: "Reads a file slowly." }).hash);
  assert.notEqual(toolText(a).hash, toolText(tool("s:read_file", "Reads a file.", { url: {} })).hash);
  assert.match(toolText(tool("s:WeatherTool")).parts.at(-1)!.text, /^Weather$/);
  const gists = (server: string) =>
    toolText(tool(`${server}:read_file`)).parts.filter(({ text }) => /read file\./.test(text));
  assert.deepEqual(
    gists("file-mcp").map(({ text }) => text),
    ["read file. "],
    "a server that says no more adds nothing",
  );
  assert.equal(gists("backup").length, 2);
});
