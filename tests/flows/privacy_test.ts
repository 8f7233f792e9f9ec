// Personal data: what a client gets to see, and what servers get back.
import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, testServer, until } from "../fixtures/gateway.ts";
import { crash, linesOf, run, task } from "../fixtures/workflow.ts";

const EMAIL = "ann.example@mail.example.com";
const PHONE = "+1 415 555 2671";
const CARD = "4111 1111 1111 1111";
const IBAN = "DE89 3704 0044 0532 0130 00";
const BADGE = "EMP-20417";
const PERSONAL = [EMAIL, PHONE, CARD, IBAN, BADGE];
const TEXT = `Ann, ${PERSONAL.join(", ")}; build 1730000000000 of 2026-11-16`;
const TOKENS = /\[(email|phone|card|iban|badge):\w+\]/g;

/** A home in which agents see tokens. The text comes out of a file, so that it never was the client's own. */
async function privateHome(policy: Record<string, unknown> = {}) {
  const home = await createTestHome({
    servers: { kit: testServer("kit", "--files"), other: testServer("kit"), friend: testServer("kit") },
    policy: {
      pii: "tokenize",
      pii_patterns: { badge: "EMP-\\d{5}" },
      pii_allow: ["friend"],
      effects: { "*:append": "idempotent" },
      ...policy,
    },
  });
  const source = `${home.dir}/people.txt`;
  await Deno.writeTextFile(source, TEXT);
  return { home, source };
}

Deno.test("no path shows an agent personal data; servers get back what they told, others only what they may have", async () => {
  const { home, source } = await privateHome();
  await using _home = home;
  await using client = await connectClient(home);
  const said: string[] = [];
  const use = async (tool: string, args: Record<string, unknown>) => {
    const text = JSON.stringify(await client.use(tool, args, { progressToken: said.length }));
    said.push(text);
    return text;
  };

  const direct = await use("kit:read_file", { file: source });
  const tokens = [...direct.matchAll(TOKENS)].map(([token]) => token);
  assert.deepEqual(tokens.map((token) => token.slice(1).split(":")[0]), ["email", "phone", "card", "iban", "badge"]);
  assert.match(direct, /Ann, .*; build 1730000000000 of 2026-11-16/, "the rest is as it was");
  const [email] = tokens as [string];

  const inRun = await run(client, [
    task("read", "kit:read_file", { file: source }),
    {
      id: "code",
      type: "code_execution",
      code: "return [deps.read.output, await kit.read_file({ file: context.source })]",
      depends_on: ["read"],
      context: { source },
    },
    task("fail", "kit:complain", { file: source }),
  ], { return: ["read", "code"] });
  said.push(JSON.stringify(inRun));
  assert.deepEqual([...new Set(JSON.stringify(inRun.results).match(TOKENS))], tokens, "the same tokens everywhere");
  const fromCode = await client.call("execute_code", {
    code: `const text = await kit.read_file({ file: ${
      JSON.stringify(source)
    } }); console.log(text); return [text, text.length]`,
  });
  said.push(textOf(fromCode));
  assert.ok(textOf(fromCode).includes(email));
  await use("kit:complain", { file: source });
  await use("kit:csv", { file: source });
  await use("kit:last_words", { file: source });
  await use("kit:echo", { text: "after its last words" });
  const bytes = await client.call("execute_code", {
    code: `const csv = await kit.csv({ file: ${JSON.stringify(source)} }); return new TextDecoder().decode(csv)`,
  });
  said.push(textOf(bytes));
  const dying = await run(client, [
    task("dies", "kit:last_words", { file: source }),
    {
      id: "code",
      type: "code_execution",
      code: `return await kit.last_words({ file: "${source}" }).catch((e) => e.message)`,
    },
  ]);
  said.push(JSON.stringify(dying));
  said.push(textOf(await client.call("search_tools", { query: "echo" })));
  // Repeated without its label it is still the same number.
  const labelled = await use("kit:echo", { text: "phone: 4155552671" });
  const [phone] = labelled.match(TOKENS)!;
  said.push(await use("kit:echo", { text: `Looked up ${phone}` }));
  const large = await use("kit:read_file", { file: source, times: 30_000 });
  const handle = /r_\w+/.exec(large)?.[0];
  said.push(JSON.stringify(await client.use("agentcards:read_result", { handle, limit: 500 })));
  said.push(
    textOf(await client.call("execute_code", { code: `return (await results.get("${handle}")).slice(0, 300)` })),
  );

  const written = (name: string) => `${home.dir}/${name}.out`;
  await use("kit:append", { file: written("kit"), line: `to ${email}` });
  await use("friend:append", { file: written("friend"), line: `to ${email}` });
  await use("other:append", { file: written("other"), line: `to ${email}` });
  await run(client, [
    task("read", "kit:read_file", { file: source }),
    task("send", "kit:append", { file: written("run"), line: "$OUTPUT[read]" }),
    {
      id: "code",
      type: "code_execution",
      code: `await kit.append({ file: "${written("code")}", line: deps.read.output })`,
      depends_on: ["read"],
    },
  ]);
  assert.deepEqual(await linesOf(written("kit")), [`begin to ${EMAIL}`, `end to ${EMAIL}`]);
  assert.deepEqual(await linesOf(written("friend")), [`begin to ${EMAIL}`, `end to ${EMAIL}`]);
  assert.deepEqual(await linesOf(written("other")), [`begin to ${email}`, `end to ${email}`]);
  assert.deepEqual(await linesOf(written("run")), [`begin ${TEXT}`, `end ${TEXT}`]);
  assert.deepEqual(await linesOf(written("code")), [`begin ${TEXT}`, `end ${TEXT}`]);

  await crash(home);
  // Whoever calls in this very moment hears that the engine went away.
  await use("kit:echo", { text: "up" });
  await use("kit:append", { file: written("later"), line: `to ${email}` });
  assert.deepEqual(
    await linesOf(written("later")),
    [`begin to ${EMAIL}`, `end to ${EMAIL}`],
    "also in the next engine",
  );
  await use("kit:append", { file: written("forged"), line: "to [email:abcdefghjkmn]" });
  assert.equal(
    (await linesOf(written("forged")))[0],
    "begin to [email:abcdefghjkmn]",
    "what only looks like one stays",
  );

  const everything = said.join("\n") + JSON.stringify(client.others);
  for (const value of [...PERSONAL, "4155552671"]) assert.ok(!everything.includes(value), `${value} was told`);
  for await (const { name, isFile } of Deno.readDir(`${home.dir}/results`)) {
    const stored = isFile ? await Deno.readTextFile(`${home.dir}/results/${name}`) : "";
    for (const value of PERSONAL) assert.ok(!stored.includes(value), `${value} lies in results/${name}`);
  }
});

Deno.test("a human who is asked sees the values, and without the policy nothing is touched", async () => {
  const { home, source } = await privateHome({ approve: ["kit:append"] });
  await using _home = home;
  await using client = await connectClient(home, { capabilities: { elicitation: {} } });
  const [token] = JSON.stringify(await client.use("kit:read_file", { file: source })).match(TOKENS)!;
  const file = `${home.dir}/asked`;
  const asking = client.use("kit:append", { file, line: token });
  await until("it asks", () => client.others.some(({ method }) => method === "elicitation/create"));
  const question = client.others.find(({ method }) => method === "elicitation/create")!;
  assert.ok(JSON.stringify(question.params).includes(EMAIL));
  await client.send({ id: question.id, result: { action: "accept", content: { allow: true } } });
  await asking;
  assert.deepEqual(await linesOf(file), [`begin ${EMAIL}`, `end ${EMAIL}`]);
  // Where no human is there, the agent reads what was asked.
  await using mute = await connectClient(home);
  const waiting = textOf(await mute.use("kit:append_asked", { file: `${home.dir}/begun` }));
  assert.match(waiting, /it asks: \[server kit\] Shall .* go on\?/);
  const kept = await home.run(["runs", "show", JSON.parse(waiting).workflow_id, "--json"]);
  assert.ok(![waiting, kept.stdout].some((text) => text.includes("lovelace")), waiting + kept.stdout);
  const inside = JSON.stringify(
    await mute.call("execute_code", { code: "return await kit.append_asked({ file: '/dev/null' })" }),
  );
  assert.match(inside, /asks a human: \[server kit\] Shall .* go on\?/);
  assert.ok(!inside.includes("lovelace"), inside);

  await using open = await createTestHome({ servers: { kit: testServer("kit", "--files") } });
  await using plain = await connectClient(open);
  await Deno.writeTextFile(`${open.dir}/people.txt`, TEXT);
  assert.equal(textOf(await plain.use("kit:read_file", { file: `${open.dir}/people.txt` })), TEXT);
});

Deno.test("a server that lists every number there is does not learn which one another server's token stands for", async () => {
  await using home = await createTestHome({
    servers: { crm: testServer("kit", "--files"), evil: testServer("kit", "--files") },
    policy: { pii: "tokenize" },
  });
  await using client = await connectClient(home);
  const [contact, numbers, written] = ["contact", "numbers", "written"].map((name) => `${home.dir}/${name}`);
  await Deno.writeTextFile(contact!, "Ann: +14155552671");
  const all = Array.from({ length: 10_000 }, (_, i) => `+1415555${String(i).padStart(4, "0")}`);
  await Deno.writeTextFile(numbers!, all.join("\n"));
  const [token] = textOf(await client.use("crm:read_file", { file: contact })).match(TOKENS)!;
  await client.use("evil:read_file", { file: numbers });
  await client.use("evil:read_file", { file: contact });
  await client.use("evil:append", { file: written, line: token });
  assert.equal((await linesOf(written!))[0], `begin ${token}`);
  await client.use("crm:append", { file: `${written}2`, line: token });
  assert.equal((await linesOf(`${written}2`))[0], "begin +14155552671");
});
