// The rules of a configuration on every path of a call, through a client, with real servers.
import assert from "node:assert/strict";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, testServer, until } from "../fixtures/gateway.ts";
import { shareTestHome } from "../fixtures/shared_home.ts";
import { linesOf, run, statuses, task } from "../fixtures/workflow.ts";

const SERVERS = { kit: testServer("kit") };
const RULES = {
  servers: SERVERS,
  policy: {
    preset: "minimal",
    rules: [
      { name: "short lines", match: "kit:append", when: "size(args.line) > 20", then: "deny", message: "Too long." },
      { name: "loud", match: "kit:echo", when: 'args.text == "LOUD"', then: "approve", message: "It is loud." },
      { name: "keys", match: "kit:*", on: "result", when: 'regex(text, "AKIA[0-9A-Z]{16}")', then: "redact" },
      { name: "private", match: "kit:*", on: "result", when: 'text.contains("PRIVATE")', then: "deny" },
      { name: "no loops", match: "code:run", when: 'args.code.contains("while")', then: "deny" },
    ],
  },
};
const LONG = "a line of more than twenty characters";

async function failure(made: Promise<unknown>): Promise<string> {
  const result = await made.then((value) => textOf(value as never), (error) => String(error.message ?? error));
  return result;
}

Deno.test("a rule over arguments holds for direct calls, workflows, code and saved workflows", async () => {
  await using home = await shareTestHome(RULES);
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const denial = /kit:append may not be called: the rule "short lines" forbids it: Too long/;
  assert.match(await failure(client.use("kit:append", { file, line: LONG })), denial);
  assert.match(
    await failure(client.call("run_workflow", { tasks: [task("a", "kit:append", { file, line: LONG })] })),
    denial,
  );
  const later = await run(client, [
    task("first", "kit:echo", { text: LONG }),
    task("then", "kit:append", { file, line: "$OUTPUT[first]" }),
  ]);
  assert.deepEqual(statuses(later), { first: "success", then: "error" });
  const code = await failure(
    client.call("execute_code", { code: `return await kit.append(${JSON.stringify({ file, line: LONG })})` }),
  );
  assert.match(code, /short lines/);
  assert.deepEqual(await linesOf(file), []);
  await client.use("kit:append", { file, line: "short" });
  assert.deepEqual(await linesOf(file), ["begin short", "end short"]);
  assert.match(await failure(client.call("execute_code", { code: "while (false) {} return 1" })), /rule "no loops"/);
  assert.match(await failure(client.call("execute_code", { code: "return 1" })), /1/);
});

Deno.test("results are redacted and withheld by rules, in texts and in values that code reads", async () => {
  await using home = await shareTestHome(RULES);
  await using client = await connectClient(home);
  const key = "AKIAABCDEFGHIJKLMNOP";
  assert.match(textOf(await client.use("kit:echo", { text: `key ${key}.` })), /key \[redacted: keys\]\./);
  const code = textOf(
    await client.call("execute_code", { code: `return await kit.echo({ text: "x ${key}" })` }) as never,
  );
  assert.ok(!code.includes(key) && code.includes("[redacted: keys]"), code);
  assert.match(textOf(await client.use("kit:echo", { text: "PRIVATE" })), /withheld: the rule "private"/);
  assert.match(textOf(await client.use("kit:echo", { text: "plain" })), /plain/);
});

Deno.test("a call that nobody can be asked about stays open for a person, and is not told as rejected", async () => {
  await using home = await shareTestHome(RULES);
  await using client = await connectClient(home);
  const text = await failure(client.use("kit:echo", { text: "LOUD" }));
  assert.match(text, /needs a human's approval \(the rule "loud" asks: It is loud\), and this client cannot ask/);
  assert.match(text, /agentcards approve ap_[0-9a-f]{16}[\s\S]*then: allow/);
  assert.doesNotMatch(text, /was not allowed by the human/);
});

/** A client that answers every question in one way. */
async function answering(client: RawClient, content: Record<string, unknown> | "cancel", made: Promise<unknown>) {
  const seen = client.others.length;
  const find = () => client.others.slice(seen).find(({ method }) => method === "elicitation/create");
  await until("it asks", () => find() !== undefined);
  const question = find()!;
  const result = content === "cancel" ? { action: "cancel" } : { action: "accept", content };
  await client.send({ jsonrpc: "2.0", id: question.id, result });
  return [question, await failure(made)] as const;
}

Deno.test("standard asks about the first use of a tool that acts, for once, for the session, or always", async () => {
  await using home = await createTestHome({
    servers: SERVERS,
    policy: { preset: "standard", effects: { "kit:append": "effectful", "kit:echo": "read" } },
  });
  const file = `${home.dir}/oracle`;
  const capabilities = { elicitation: { form: {} } };
  {
    await using client = await connectClient(home, { capabilities });
    assert.match(textOf(await client.use("kit:echo", { text: "reads pass" })), /reads pass/);
    const [question] = await answering(client, { allow: "once" }, client.use("kit:append", { file, line: "1" }));
    assert.match(JSON.stringify(question), /it acts, and was not allowed before/);
    assert.match(JSON.stringify(question), /"enum":\["no","once","session","always"\]/);
    const [, cancelled] = await answering(client, "cancel", client.use("kit:append", { file, line: "2" }));
    assert.match(cancelled, /nobody answered[\s\S]*agentcards approve/);
    assert.doesNotMatch(cancelled, /not allowed by the human/);
    const [, no] = await answering(client, { allow: "no" }, client.use("kit:append", { file, line: "3" }));
    assert.match(no, /was not allowed by the human/);
    await answering(client, { allow: "session" }, client.use("kit:append", { file, line: "4" }));
    await client.use("kit:append", { file, line: "5" });
  }
  {
    await using client = await connectClient(home, { capabilities });
    await answering(client, { allow: "always" }, client.use("kit:append", { file, line: "6" }));
  }
  await using client = await connectClient(home);
  await client.use("kit:append", { file, line: "7" });
  const begun = (await linesOf(file)).filter((line) => line.startsWith("begin"));
  assert.deepEqual(begun, [1, 4, 5, 6, 7].map((line) => `begin ${line}`));
});

Deno.test("policy.unattended decides where nobody can be asked, and rules always hold", async () => {
  for (const [unattended, expected] of [["allow", /ok|append|1/], ["deny", /nobody can be asked/]] as const) {
    await using home = await createTestHome({
      servers: SERVERS,
      policy: { preset: "standard", unattended, rules: [{ name: "asked", match: "kit:echo", then: "approve" }] },
    });
    await using client = await connectClient(home);
    assert.match(await failure(client.use("kit:append", { file: `${home.dir}/oracle`, line: "1" })), expected);
    assert.match(await failure(client.use("kit:echo", { text: "x" })), /needs a human's approval/);
  }
});
