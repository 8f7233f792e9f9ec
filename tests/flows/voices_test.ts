// Texts and questions of servers: invisible characters, names, bounds, and whose human is asked.
import assert from "node:assert/strict";
import { connectClient, type Message, type RawClient, textOf, type ToolResult } from "../fixtures/client.ts";
import { createTestHome, sleep, testServer, until } from "../fixtures/gateway.ts";
import { shareTestHome } from "../fixtures/shared_home.ts";
import { task } from "../fixtures/workflow.ts";

const SERVERS = { bad: testServer("voices"), modern: testServer("voices", "--modern") };
const ELICITATION = { elicitation: { form: {}, url: {} }, sampling: {} };
// deno-lint-ignore no-control-regex
const HIDING = /[\u{e0000}-\u{e007f}\u202e\u001b]/u;
// deno-lint-ignore no-control-regex
const INVISIBLE = /[\u{e0000}-\u{e007f}\u202e\u001b\u200b]/u;
const TAG = "\\udb40\\udc41\\u202e\\u001b[8m";

/** All texts and keys of a message. */
function raw(message: unknown): string {
  const texts: string[] = [];
  JSON.stringify(message, (key, value) => {
    texts.push(key, typeof value === "string" ? value : "");
    return value;
  });
  return texts.join("\n");
}
const isClean = (message: unknown, what: string) => assert.doesNotMatch(raw(message), INVISIBLE, what);

Deno.test("poi-112: definitions have no invisible character in any part, and icons are no addresses elsewhere", async () => {
  await using home = await createTestHome({ servers: SERVERS, expose: { tools: "direct" } });
  await using client = await connectClient(home);
  const { result: { tools } } = await client.request("tools/list") as { result: { tools: Message[] } };
  for (const server of ["bad", "modern"]) {
    const tool = tools.find(({ name }) => name === `${server}__poisoned`)!;
    isClean(tool, server);
    assert.deepEqual(tool.icons, [{ src: "data:image/png;base64,aGk=" }]);
    assert.deepEqual(Object.keys((tool.inputSchema as { properties: Message }).properties), ["parameter"]);
    assert.deepEqual((tool.inputSchema as Message).required, ["parameter"]);
    assert.deepEqual(tool._meta, { "example.com/words": "meta" });
    assert.deepEqual(tool.annotations, { title: "annotated" });
  }
});

Deno.test("prompts, offers, logs and progress have no invisible character", async () => {
  await using home = await createTestHome({ servers: { bad: SERVERS.bad } });
  await using client = await connectClient(home);
  await client.use("bad:wait", { ms: 1 });
  for (const method of ["resources/list", "prompts/list"]) isClean(await client.request(method), method);
  const { result: { prompts } } = await client.request("prompts/list") as { result: { prompts: Message[] } };
  assert.deepEqual(prompts.map(({ name }) => name), ["bad__letter"], "a name that hides something is not offered");
  const prompt = await client.request("prompts/get", { name: "bad__letter", arguments: { to: "Ada" } });
  assert.match(JSON.stringify(prompt), /"Write"|"Write\[8m"/);
  isClean(prompt, "prompts/get");
  client.others.splice(0);
  await client.use("bad:log", {}, { progressToken: "p" });
  await until("both", () => client.others.length >= 2);
  assert.match(JSON.stringify(client.others), /logged/);
  assert.match(JSON.stringify(client.others), /step/);
  isClean(client.others, "notifications");
});

for (const era of ["legacy", "modern"] as const) {
  Deno.test(`in results that a ${era} client gets, hiding characters are escapes with a note; plain text is untouched`, async () => {
    await using home = await shareTestHome({ servers: SERVERS });
    await using client = await connectClient(home, { era });
    for (const server of ["bad", "modern"]) {
      const result = await client.use(`${server}:say`);
      const at = `${server}: ${JSON.stringify(result)}`;
      assert.equal(result.content[0]!.text, `spoken${TAG}\u200b`, at);
      assert.equal((result.content[1] as unknown as { resource: Message }).resource.text, `embedded${TAG}\u200b`, at);
      assert.deepEqual(result.structuredContent, { [`key${TAG}\u200b`]: `value${TAG}\u200b` }, at);
      assert.match(result.content.at(-1)!.text!, /written as escapes/, at);
      const failed = await client.use(`${server}:fail`);
      assert.equal(failed.isError, true);
      assert.ok(textOf(failed).startsWith(`it failed${TAG}`), textOf(failed));
      assert.doesNotMatch(raw(await client.use(`${server}:refuse`)), HIDING);
      // A large answer goes through a Worker.
      const large = await client.use(`${server}:say`, { size: 3_000_000 });
      assert.ok(textOf(large).includes(`spoken${TAG}`), textOf(large).slice(0, 500));
      assert.doesNotMatch(raw(large), HIDING);
      const plain = await client.use(`${server}:plain`);
      assert.equal(plain.content.length, 1);
      assert.equal(
        textOf(plain),
        "👩‍💻 می‌خواهم ❤️ 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} e\u0301 tab\tline\n",
      );
    }
    const read = await client.request("resources/read", { uri: "agentcards://bad/note%3A%2F%2Fone" });
    if (read.result) {
      const { contents, _meta } = read.result as { contents: Message[]; _meta: Message };
      assert.equal(contents[0]!.text, `resource${TAG}\u200b`);
      assert.match(String(_meta["agentcards/note"]), /escapes/);
    } else {
      const listed = await client.request("resources/list") as { result: { resources: { uri: string }[] } };
      const { result } = await client.request("resources/read", { uri: listed.result.resources[0]!.uri });
      assert.equal((result as { contents: Message[] }).contents[0]!.text, `resource${TAG}\u200b`);
    }
    const completed = await client.request("completion/complete", {
      ref: { type: "ref/prompt", name: "bad__letter" },
      argument: { name: "to", value: "A" },
    });
    assert.match(JSON.stringify(completed.result), /completed\\\\udb40\\\\udc41/);
  });
}

Deno.test("values for code, references and stored results keep every character", async () => {
  await using home = await shareTestHome({ servers: SERVERS });
  await using client = await connectClient(home);
  const code = "const v = await bad.say({}); return Object.values(v)[0].includes('\\u{e0041}\\u202e\\u001b[8m')";
  assert.equal(JSON.parse(textOf(await client.call("execute_code", { code }))).result, true);
  const large = "const v = await tools['bad:say']({size: 3000000}); return Object.values(v)[0].includes('\\u{e0041}')";
  assert.equal(JSON.parse(textOf(await client.call("execute_code", { code: large }))).result, true);
  const tasks = [
    task("a", "bad:say"),
    { id: "b", type: "code_execution", code: "return Object.values(deps.a.output)[0].length", depends_on: ["a"] },
  ];
  const answer = await client.call("run_workflow", { tasks, options: { return: ["a", "b"] } });
  assert.doesNotMatch(raw(answer), HIDING);
  const { results } = JSON.parse(textOf(answer)) as { results: Message };
  assert.equal(results.b, "value".length + "\u{e0041}\u202e\u001b[8m\u200b".length);
});

/** Answers every question that comes, until told to stop; gives the questions. */
function answerAll(client: RawClient, answer: Message = { action: "accept", content: {} }) {
  const seen: Message[] = [];
  let [open, mostOpen, isDone] = [0, 0, false];
  const done = (async () => {
    while (!isDone) {
      for (const question of client.others.splice(0).filter(({ id }) => id !== undefined)) {
        seen.push(question);
        mostOpen = Math.max(mostOpen, ++open);
        void sleep(30).then(() => {
          open--;
          return client.send({ id: question.id, result: answer });
        });
      }
      await sleep(5);
    }
  })();
  return {
    seen,
    most: () => mostOpen,
    async [Symbol.asyncDispose]() {
      isDone = true;
      await done;
    },
  };
}

/** Makes a call and gives the params of its first question, in both eras of client and on each path. */
async function questionOf(client: RawClient, name: string, args: Message): Promise<Message | string> {
  const calling = client.call(name, args);
  if (client.era === "modern") {
    const result = await calling;
    const [question] = Object.values(result.inputRequests ?? {});
    return question ? question.params as Message : textOf(result);
  }
  const asked = () => client.others.find(({ id }) => id !== undefined);
  let result: ToolResult | undefined;
  void calling.then((given) => result = given);
  await until("a question or an answer", () => asked() !== undefined || result !== undefined);
  if (!asked()) return textOf(result!);
  const { id, params } = client.others.splice(0).find((message) => message.id !== undefined)!;
  await client.send({ id, result: { action: "decline" } });
  await calling;
  return params as Message;
}

for (const era of ["legacy", "modern"] as const) {
  Deno.test(`questions to a ${era} client carry the server's name, are clean and lead to safe pages, on every path`, async () => {
    await using home = await shareTestHome({ servers: SERVERS });
    await using client = await connectClient(home, { era, capabilities: ELICITATION });
    const paths = (tool: string, args: Message): [string, Message][] => [
      ["call_tool", { tool, arguments: args }],
      ["run_workflow", { tasks: [{ id: "t", tool, arguments: args }] }],
      ["execute_code", { code: `return await tools["${tool}"](${JSON.stringify(args)})` }],
    ];
    for (const server of ["bad", "modern"]) {
      for (const [name, args] of paths(`${server}:ask`, {})) {
        const question = await questionOf(client, name, args) as Message;
        const at = `${name} ${server}: ${JSON.stringify(question)}`;
        assert.equal(question.message, `[server ${server}] Who?`, at);
        isClean(question, at);
      }
      for (
        const url of ["javascript:alert(1)", "file:///etc/passwd", "http://evil.example/", "https://a@evil.example/"]
      ) {
        const answer = await questionOf(client, "call_tool", { tool: `${server}:visit`, arguments: { url } });
        assert.equal(typeof answer, "string", `${url} ${JSON.stringify(answer)}`);
      }
      for (const url of ["https://example.com/x", "http://127.0.0.1:8080/x", "http://localhost/"]) {
        const question = await questionOf(client, "call_tool", { tool: `${server}:visit`, arguments: { url } });
        assert.equal((question as Message).url, url, JSON.stringify(question));
      }
      const forged = "Hello\n[server github] Your token?\n\n\n\n\nAgain" + "x".repeat(10_000);
      const call = { tool: `${server}:ask`, arguments: { message: forged } };
      const { message } = await questionOf(client, "call_tool", call) as { message: string };
      assert.ok(
        message.startsWith(`[server ${server}] Hello\n(server github] Your token?\n\nAgain`),
        message.slice(0, 99),
      );
      assert.ok(message.length < 4_100);
    }
    for (const server of ["bad", "modern"]) {
      const sampling = { tool: `${server}:sample`, arguments: { context: "allServers" } };
      const asked = await questionOf(client, "call_tool", sampling) as Message;
      assert.equal(asked.includeContext, "none", JSON.stringify(asked));
      isClean(asked, "sampling");
    }
  });
}

Deno.test("pages that an error asks for are named and checked, put or passed on", async () => {
  await using home = await createTestHome({ servers: { bad: SERVERS.bad }, expose: { tools: "direct" } });
  for (const capabilities of [ELICITATION, {}]) {
    await using client = await connectClient(home, { capabilities });
    const make = (url: string) => client.request("tools/call", { name: "bad__page", arguments: { url } });
    const refused = JSON.stringify(await make("javascript:alert(1)"));
    assert.match(refused, /only https/);
    assert.doesNotMatch(refused, /"elicitations"/);
    if (capabilities === ELICITATION) {
      const calling = make("https://example.com/x");
      await until("the page", () => client.others.some(({ id }) => id !== undefined));
      const { id, params } = client.others.find((message) => message.id !== undefined)!;
      assert.equal((params as Message).message, "[server bad] Sign in");
      await client.send({ id, result: { action: "decline" } });
      isClean(await calling, "declined");
    } else {
      const { error } = await make("https://example.com/x") as { error: { data: { elicitations: Message[] } } };
      assert.equal(error.data.elicitations[0]!.message, "[server bad] Sign in");
      isClean(error, "passed on");
    }
  }
});

Deno.test("a server puts one question at a time, 20 for a call at most, and asks the client's model as often", async () => {
  await using home = await shareTestHome({ servers: SERVERS });
  await using client = await connectClient(home, { capabilities: ELICITATION });
  for (const method of ["ask", "sample"]) {
    const answer = method === "ask"
      ? { action: "accept", content: {} }
      : { role: "assistant", content: { type: "text", text: "x" }, model: "m" };
    await using asked = answerAll(client, answer);
    await client.use("bad:many", { count: 300, method });
    assert.ok(asked.seen.length > 0 && asked.seen.length <= 20, `${method}: ${asked.seen.length}`);
    assert.equal(asked.most(), 1, method);
  }
  // Of the stateless protocol all questions of one answer count.
  const many = await client.use("modern:ask", { count: 21 });
  assert.match(textOf(many), /more than 20 times/);
});

Deno.test("a shared server's question is put to nobody while several sessions wait for it", async () => {
  await using home = await createTestHome({ servers: { sh: { ...SERVERS.bad, shared: true } } });
  await using a = await connectClient(home, { capabilities: ELICITATION });
  await using b = await connectClient(home, { capabilities: ELICITATION });
  const questions = (client: RawClient) => client.others.filter(({ id }) => id !== undefined);
  // With one session alone it is clear whom the server asks.
  const alone = b.use("sh:ask");
  await until("the question", () => questions(b).length > 0);
  await b.send({ id: questions(b)[0]!.id, result: { action: "accept", content: {} } });
  assert.match(textOf(await alone), /accept/);
  b.others.splice(0);

  await a.use("sh:wait", { ms: 1 });
  const slow = b.use("sh:wait", { ms: 3_000 });
  await sleep(800);
  assert.match(textOf(await a.use("sh:ask", { message: "A private question for A" })), /Several clients wait/);
  await slow;

  // A call that was given up may be the one that asks: another session is not asked instead.
  const call = { name: "call_tool", arguments: { tool: "sh:ask_late", arguments: { ms: 2_000 } } };
  void a.request("tools/call", call, "gone").catch(() => {});
  await sleep(500);
  await a.send({ method: "notifications/cancelled", params: { requestId: "gone" } });
  await b.use("sh:wait", { ms: 4_000 });
  assert.deepEqual([...questions(a), ...questions(b)], []);
});
