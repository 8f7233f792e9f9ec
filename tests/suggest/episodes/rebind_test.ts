import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/model/mod.ts";
import { rebind } from "../../../src/suggest/episodes/rebind.ts";

/** A request, another one with other values, and the arguments of both. */
const PAIRS: readonly (readonly [string, string, JsonObject, JsonObject])[] = [
  ['List the orders of the customer "ann"', 'Show me what orders customer "bob" has', { customer: "ann" }, {
    customer: "bob",
  }],
  ["List the orders of the customer ann", "Which orders does customer bob have?", { customer: "ann" }, {
    customer: "bob",
  }],
  ["Read /tmp/notes/a.txt and tell me its first 5 lines", "Give me the top 12 lines of /home/x/todo.md", {
    path: "/tmp/notes/a.txt",
    head: 5,
  }, { path: "/home/x/todo.md", head: 12 }],
  ["Move /a/old.txt to /b/new.txt", "Please move the file /c/x.md to /d/y.md", {
    source: "/a/old.txt",
    destination: "/b/new.txt",
  }, { source: "/c/x.md", destination: "/d/y.md" }],
  [
    'Create an issue in octo/hello titled "Bug in login"',
    'Open an issue with the title "Crash at start" in acme/site',
    { repo: "octo/hello", title: "Bug in login" },
    { repo: "acme/site", title: "Crash at start" },
  ],
  ["What is the weather in Berlin tomorrow?", "How will the weather be in Paris tomorrow?", { city: "Berlin" }, {
    city: "Paris",
  }],
  ["Convert 100 USD to EUR", "Change 250 GBP into JPY", { amount: 100, from: "USD", to: "EUR" }, {
    amount: 250,
    from: "GBP",
    to: "JPY",
  }],
  ['Send an email to ann@example.com with the subject "Hi"', 'Mail bob@x.org, subject "Meeting moved"', {
    to: "ann@example.com",
    subject: "Hi",
  }, { to: "bob@x.org", subject: "Meeting moved" }],
  ["Change the status of the order W-1 with status paid", "Change the status of the order W-2 with status paid", {
    order_id: "W-1",
    status: "paid",
  }, { order_id: "W-2", status: "paid" }],
  ["Show the commits of the branch main since 2024-01-01", "Commits on branch develop since 2025-03-04 please", {
    branch: "main",
    since: "2024-01-01",
  }, { branch: "develop", since: "2025-03-04" }],
  [
    'Add the files a.ts and b.ts and commit with the message "first"',
    'Stage x.ts, y.ts and z.ts, then commit them with message "second"',
    { files: ["a.ts", "b.ts"], message: "first" },
    { files: ["x.ts", "y.ts", "z.ts"], message: "second" },
  ],
  ["Remember that Ann works at Acme", "Remember that Bob works at Initech", { person: "Ann", company: "Acme" }, {
    person: "Bob",
    company: "Initech",
  }],
  ['Search for pages about "rust async"', 'Find pages on "deno workers"', { query: "rust async" }, {
    query: "deno workers",
  }],
  ["Tell the details of order W-ann-1", "details of the order W-bob-3, please", { order_id: "W-ann-1" }, {
    order_id: "W-bob-3",
  }],
  ["Compare v1.0 with v1.2 in octo/hello", "compare v2.1 with v2.4 of acme/site", {
    base: "v1.0",
    head: "v1.2",
    repo: "octo/hello",
  }, { base: "v2.1", head: "v2.4", repo: "acme/site" }],
  ['Write "hello" into /tmp/x.txt', 'Put the text "good night" into /tmp/y.txt', {
    path: "/tmp/x.txt",
    content: "hello",
  }, { path: "/tmp/y.txt", content: "good night" }],
  ["List the tables of the sales database", "Which tables does the customers database have?", { database: "sales" }, {
    database: "customers",
  }],
];

const argumentsFor = (earlier: string, now: string, args: JsonObject) =>
  rebind(earlier, now, { tasks: [{ id: "x", tool: "s:x", arguments: args }], bound: () => undefined }).tasks[0]!
    .arguments;

Deno.test("values that a request said are said anew by another one; a value that is not plain is missing, none is wrong", () => {
  let [right, all] = [0, 0];
  for (const [earlier, now, args, wanted] of PAIRS) {
    const made = argumentsFor(earlier, now, args);
    for (const name of Object.keys(wanted)) {
      all++;
      if (!(name in made)) continue;
      assert.deepEqual(made[name], wanted[name], `${name} of "${now}"`);
      right++;
    }
  }
  assert.ok(right / all >= 0.9, `${right} of ${all}`);
});

Deno.test("what the earlier request did not say stays, and so do references", () => {
  const args = { path: "/reports/ann.md", limit: 20, id: "$OUTPUT[a].id", who: "ann" };
  assert.deepEqual(argumentsFor('The report of "ann"', 'A report about "bob"', args), {
    path: "/reports/bob.md",
    limit: 20,
    id: "$OUTPUT[a].id",
    who: "bob",
  });
});
