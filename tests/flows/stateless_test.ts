// The stateless protocol, where one side does not keep to it.
import assert from "node:assert/strict";
import { connectClient, type Message, type RawClient, textOf, type ToolResult } from "../fixtures/client.ts";
import { createTestHome, sleep, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { webServer } from "../servers/web.ts";

const META = "io.modelcontextprotocol/";
const asks = { elicitation: { form: {} } };
const answer = { action: "accept", content: { a: "b" } };

const home = (mode: string) =>
  createTestHome({ servers: { odd: testServer("stateless", mode), kit: testServer("kit", "--modern") } });

async function logOf({ dir }: TestHome): Promise<string> {
  let log = "";
  for await (const { name } of Deno.readDir(`${dir}/logs`)) log += await Deno.readTextFile(`${dir}/logs/${name}`);
  return log;
}

/** Repeats a call with an answer to its one question. */
function again(client: RawClient, tool: string, asked: ToolResult, args: Message = {}): Promise<ToolResult> {
  const _retry = { inputResponses: { q: answer }, requestState: asked.requestState };
  return client.use(tool, args, { _retry });
}

Deno.test("s26-001: a request without a version is told to shake hands, one with another version what there is", async () => {
  await using place = await createTestHome({ servers: { kit: testServer("kit") } });
  await using client = await connectClient(place, { handshake: false });
  const error = async (meta: Message, method = "tools/call") => {
    const id = crypto.randomUUID();
    await client.send({ id, method, params: { name: "call_tool", arguments: {}, _meta: meta } });
    return (await client.answerTo(id)).error as { code: number; message: string; data?: Message };
  };
  assert.match((await error({})).message, /initialize must come first/);
  for (const method of ["tools/call", "tools/list", "server/discover", "resources/read"]) {
    const unknown = { [`${META}protocolVersion`]: "1999-01-01", [`${META}clientCapabilities`]: {} };
    const { code, data } = await error(unknown, method);
    assert.deepEqual([code, data], [-32022, { supported: ["2026-07-28"], requested: "1999-01-01" }], method);
  }
  assert.equal((await error({ [`${META}protocolVersion`]: "2026-07-28" })).code, -32602);
});

Deno.test("s26-003: a server that asks for ever is cut off, whoever answers it", async () => {
  await using place = await home("asks for ever");
  await using old = await connectClient(place, { capabilities: asks });
  const calling = old.use("odd:act");
  const seen = new Set<unknown>();
  while (seen.size < 5) {
    const question = old.others.find(({ method, id }) => method === "elicitation/create" && !seen.has(id));
    if (!question) await sleep(10);
    else {
      seen.add(question.id);
      await old.send({ id: question.id, result: answer });
    }
  }
  assert.match(textOf(await calling), /asked for input 5 times and still has questions/);

  await using modern = await connectClient(place, { era: "modern", capabilities: asks });
  let result = await modern.use("odd:act");
  let rounds = 0;
  for (; result.resultType === "input_required" && rounds < 20; rounds++) {
    result = await again(modern, "odd:act", result);
  }
  assert.equal(rounds, 5);
  assert.match(textOf(result), /asked for input 5 times and still has questions/);
});

Deno.test("s26-004: what a server wants to be reminded of is bounded, comes back as it was, and only with its own call", async () => {
  await using large = await home("huge state");
  await using unlucky = await connectClient(large, { era: "modern", capabilities: asks });
  assert.match(textOf(await unlucky.use("odd:act")), /requestState is not a text of at most/);

  await using place = await home("says its state");
  await using client = await connectClient(place, { era: "modern", capabilities: asks });
  const asked = await client.use("odd:act", { a: 1 });
  assert.doesNotMatch(asked.requestState!, /^state of/, "signed, not bare");
  for (const [tool, args] of [["odd:act", { a: 2 }], ["kit:ask", { a: 1 }]] as const) {
    await assert.rejects(again(client, tool, asked, args), /-32602.*belongs to no call that is waiting/);
  }
  const changed = { ...asked, requestState: asked.requestState!.slice(0, -1) + "x" };
  await assert.rejects(again(client, "odd:act", changed, { a: 1 }), /-32602/);
  assert.equal(textOf(await again(client, "odd:act", asked, { a: 1 })), 'state state of {"a":1}');
  assert.doesNotMatch(await logOf(place), /state of/);
});

Deno.test("s26-005: a server may ask only for what was offered to it", async () => {
  for (const mode of ["undeclared", "unheard of", "large"]) {
    await using place = await home(mode);
    for (const era of ["legacy", "modern"] as const) {
      await using client = await connectClient(place, { era, capabilities: asks });
      const result = await client.use("odd:act");
      assert.equal(result.isError, true);
      assert.match(textOf(result), /asks for (sampling\/createMessage|files\/delete), which this client did not offer/);
      const flag = /"message":"server_request_not_offered".*"server":"odd"/;
      await until("it is noted", async () => flag.test(await logOf(place)));
    }
  }
});

Deno.test("s26-008: a result that does not say what it is, or says nonsense, is an error and no answer", async () => {
  for (const [mode, why] of [["no type", /no resultType/], ["banana", /unknown resultType "banana"/]] as const) {
    await using place = await home(mode);
    await using client = await connectClient(place, { era: "modern" });
    const result = await client.use("odd:act");
    assert.equal(result.isError, true);
    assert.match(textOf(result), why);
  }
});

Deno.test("s26-009: a flood of changes is read once a second", async () => {
  await using place = await home("floods");
  await using client = await connectClient(place, { era: "modern" });
  const began = performance.now();
  for (let i = 0; i < 4; i++) assert.equal(textOf(await client.use("odd:act")), "flooded");
  await sleep(1_500);
  const lists = Number(textOf(await client.use("odd:lists")));
  const most = 3 + (performance.now() - began) / 1_000;
  assert.ok(lists <= most, `${lists} lists, at most ${most}`);
});

Deno.test("s26-007: no argument is mirrored in a header; s26-010: a call whose stream breaks is not made again", async () => {
  const json = (id: unknown, result: Message) =>
    Response.json({
      jsonrpc: "2.0",
      id,
      result: { resultType: "complete", ttlMs: 0, cacheScope: "private", ...result },
    });
  const tool = (name: string) => ({
    name,
    description: name,
    inputSchema: { type: "object", properties: { token: { type: "string", "x-mcp-header": "Token" } } },
  });
  let calls = 0;
  const broken = () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(": at it\n\n"));
          setTimeout(() => controller.error(new Error("cut")), 50);
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    );
  await using web = webServer((call) => {
    calls++;
    const { name } = call.params as Message;
    return name === "breaks" ? broken() : json(call.id, { content: [{ type: "text", text: "fine" }] });
  }, {
    "server/discover": ({ id }) => json(id, { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }),
    "tools/list": ({ id }) => json(id, { tools: [tool("act"), tool("breaks")] }),
  });
  await using place = await createTestHome({ servers: { web: { url: web.url, timeout: 3_000 } } });
  await using client = await connectClient(place, { era: "modern" });
  assert.equal(textOf(await client.use("web:act", { token: "canary\r\nx: y" })), "fine");
  assert.doesNotMatch(JSON.stringify(web.requests.map(({ headers }) => [...headers])), /canary/);

  calls = 0;
  const result = await client.use("web:breaks");
  assert.equal(result.isError, true);
  assert.match(textOf(result), /not repeated, since it may have had an effect|did not answer within/);
  assert.equal(calls, 1);
});
