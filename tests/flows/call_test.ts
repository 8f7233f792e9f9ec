import assert from "node:assert/strict";
import { connectClient, type Era, textOf } from "../fixtures/client.ts";
import { createTestHome, testServer, until } from "../fixtures/gateway.ts";
import { shareTestHome } from "../fixtures/shared_home.ts";

const SERVERS = { kit: testServer("kit"), modern: testServer("kit", "--modern", "--name=modern") };

for (const era of ["legacy", "modern"] satisfies Era[]) {
  Deno.test(`a ${era} client gets every kind of content, structured content and meta data unchanged`, async () => {
    await using home = await shareTestHome({ servers: SERVERS });
    await using client = await connectClient(home, { era });
    for (const server of ["kit", "modern"]) {
      const result = await client.use(`${server}:everything`);
      assert.deepEqual(result.content.map(({ type }) => type), [
        "text",
        "image",
        "audio",
        "resource_link",
        "resource",
        "something_new",
      ]);
      assert.deepEqual(result.content[0], { type: "text", text: "hello", annotations: { audience: ["user"] } });
      // The older protocol knows objects only; its clients would refuse the whole answer.
      const given = [1, "two", null];
      assert.deepEqual(result.structuredContent, era === "legacy" ? { result: given } : given);
      assert.equal(result._meta?.["example.com/trace"], "abc");
      assert.equal(result.isError, undefined);
      if (era === "modern") assert.equal(result.resultType, "complete");
      assert.equal((await client.use(`${server}:fail`)).isError, true);
    }
  });

  Deno.test(`a ${era} client sees progress of its call only, and its cancellation reaches the server`, async () => {
    await using home = await shareTestHome({ servers: SERVERS });
    await using client = await connectClient(home, { era });
    for (const server of ["kit", "modern"]) {
      const [result] = await Promise.all([
        client.use(`${server}:wait`, { ms: 90, steps: 3 }, { progressToken: `mine-${server}` }),
        client.use(`${server}:wait`, { ms: 90, steps: 3 }),
      ]);
      assert.equal(textOf(result), "waited");
      const seen = client.others.filter(({ method }) => method === "notifications/progress")
        .map(({ params }) => params as Record<string, unknown>)
        .filter(({ progressToken }) => progressToken === `mine-${server}`);
      assert.deepEqual(seen.map(({ progress }) => progress), [1, 2, 3]);
      assert.equal(seen[0]!.message, "step 1");

      void client.request("tools/call", {
        name: "call_tool",
        arguments: { tool: `${server}:wait`, arguments: { ms: 10_000, steps: 500 } },
        _meta: { progressToken: `c-${server}` },
      }, `c-${server}`)
        .catch(() => {});
      const tokens = () => client.others.map(({ params }) => (params as Record<string, unknown>)?.progressToken);
      await until("the server is at it", () => tokens().includes(`c-${server}`));
      await client.send({ method: "notifications/cancelled", params: { requestId: `c-${server}` } });
      await until("the server notices", async () => textOf(await client.use(`${server}:cancelled`)) === "wait");
    }
    const progress = client.others.filter(({ method }) => method === "notifications/progress")
      .map(({ params }) => String((params as Record<string, unknown>).progressToken))
      .filter((token) => !token.startsWith("c-"));
    assert.equal(progress.length, 6, "calls without a token of their own get no progress");
  });

  Deno.test(`a question of a server reaches the human in front of a ${era} client`, async () => {
    await using home = await shareTestHome({ servers: SERVERS });
    await using client = await connectClient(home, { era, capabilities: { elicitation: { form: {} } } });
    for (const server of ["kit", "modern"]) {
      const call = client.use(`${server}:ask`);
      const given = { action: "accept", content: { name: "Ada" } };
      let result;
      if (era === "legacy") {
        await until("the question", () => client.others.some(({ method }) => method === "elicitation/create"));
        const question = client.others.splice(0).find(({ method }) => method === "elicitation/create")!;
        assert.match(JSON.stringify(question.params), /What is your name/);
        await client.send({ id: question.id, result: given });
        result = await call;
      } else {
        const asked = await call;
        assert.equal(asked.resultType, "input_required");
        const [[key, question]] = Object.entries(asked.inputRequests!) as [[string, Record<string, unknown>]];
        assert.match(JSON.stringify(question.params), /What is your name/);
        const _retry = { inputResponses: { [key]: given }, requestState: asked.requestState };
        result = await client.use(`${server}:ask`, {}, { _retry });
        if (server === "kit") {
          await assert.rejects(client.use(`${server}:ask`, {}, { _retry }), /-32602/, "an answer counts once");
        }
      }
      assert.match(textOf(result), /Ada/);
    }
  });
}

Deno.test("trace context passes to the server, the client's own envelope does not", async () => {
  await using home = await shareTestHome({ servers: SERVERS });
  await using client = await connectClient(home);
  const meta = JSON.parse(textOf(await client.use("kit:meta", {}, { traceparent: "00-abc", progressToken: 7 })));
  assert.equal(meta.traceparent, "00-abc");
  assert.notEqual(meta.progressToken, 7, "the token is ours, not the client's");
});

Deno.test("bad input is answered with what is wrong, what was expected and what to do", async () => {
  await using home = await createTestHome({ servers: { ...SERVERS, other: testServer("kit", "--name=other") } });
  await using client = await connectClient(home);
  const expectations: [Promise<{ isError?: boolean; content: { text?: string }[] }>, RegExp][] = [
    [client.use("kit:ecko", {}), /There is no tool "kit:ecko"\nNearest: kit:echo/],
    [client.use("kid:echo", {}), /There is no server "kid"\nNearest: kit/],
    [client.use("kit:refuse", {}), /kit:refuse failed: no such thing \(code -32603\)/],
    [client.call("call_tool", {}), /tool must be of type string/],
    [client.call("call_tool", { tool: "kit:echo", args: {} }), /args is not known; did you mean arguments\?/],
    [client.call("call_tool", { tool: "kit:echo", arguments: [1] }), /arguments must be/],
    [client.call("nothing", {}), /There is no tool "nothing" here/],
    [client.use("agentcards:nothing", {}), /There are agentcards:read_result, .*agentcards:help/],
  ];
  for (const [result, expected] of expectations) {
    assert.equal((await result).isError, true, String(expected));
    assert.match(textOf(await result as never), expected);
  }
  await client.use("other:echo", { text: "known now" });
  const ambiguous = await client.use("echo", { text: "which" });
  assert.match(textOf(ambiguous), /tool of several servers: kit:echo, (modern:echo, )?other:echo/);
});

Deno.test("large answers become handles that can be read in parts; media never counts", async () => {
  await using home = await shareTestHome({ servers: SERVERS });
  await using client = await connectClient(home);
  for (const count of [1_000, 40_000]) {
    const result = await client.use("kit:rows", { count });
    const said = textOf(result);
    assert.match(said, /stored as r_[0-9a-f]{16}/);
    assert.match(said, new RegExp(`rows: array\\(${count}\\) of \\{id: number`));
    assert.equal(result.structuredContent, undefined);
    assert.ok(said.length < 4_000, `the preview has ${said.length} characters`);
    const handle = /r_[0-9a-f]{16}/.exec(said)![0];
    const read = (more: Record<string, unknown>) => client.use("agentcards:read_result", { handle, ...more });
    assert.deepEqual(JSON.parse(textOf(await read({ path: `rows[${count - 1}].id` }))), count - 1);
    assert.equal(JSON.parse(textOf(await read({ path: "rows", offset: 10, limit: 5 }))).length, 5);
    const missing = await read({ path: "rows[0].nope" });
    assert.match(textOf(missing), /there is no "nope" here; what is here has id, name, note/);
    const polluted = await read({ path: "__proto__" });
    assert.equal(polluted.isError, true);
  }
  const image = await client.use("kit:picture", { bytes: 3_000_000 });
  assert.equal(image.content[0]!.data!.length, 3_000_000);
  const gone = await client.use("agentcards:read_result", { handle: "r_0000000000000000" });
  assert.match(textOf(gone), /There is no stored result/);
  const escaped = await client.use("agentcards:read_result", { handle: "../config.yaml" });
  assert.match(textOf(escaped), /There is no stored result/);
});

Deno.test("a server runs in the client's folder, where that is trusted, and sees only what it was given", async () => {
  await using home = await createTestHome({
    servers: { kit: { ...testServer("kit"), env: { GIVEN: "${LENT}", LITERAL: "as it is" } } },
  });
  const env = { LENT: "lent-value", CLAUDE_CODE_MESSAGING_TOKEN: "canary" };
  const cwd = `${home.dir}/project`;
  await Deno.mkdir(cwd);
  assert.equal((await home.run(["trust", "--yes"], { cwd })).code, 0);
  await using client = await connectClient(home, { env, cwd });
  assert.equal(textOf(await client.use("kit:place")), await Deno.realPath(cwd));
  const variable = async (name: string) => textOf(await client.use("kit:environment", { name }));
  assert.equal(await variable("GIVEN"), "lent-value");
  assert.equal(await variable("LITERAL"), "as it is");
  assert.equal(await variable("CLAUDE_CODE_MESSAGING_TOKEN"), "(not set)");
  assert.equal(await variable("AGENTCARDS_HOME"), "(not set)");
  assert.notEqual(await variable("PATH"), "(not set)");
});

Deno.test("a missing variable is named and nothing is started", async () => {
  await using home = await createTestHome({
    servers: { kit: { ...testServer("kit"), env: { TOKEN: "${NOT_SET_ANYWHERE}" } } },
  });
  await using client = await connectClient(home);
  const result = await client.use("kit:echo", { text: "x" });
  assert.match(textOf(result), /Cannot start server "kit": NOT_SET_ANYWHERE not set\n.*secrets\.env/);
});

Deno.test("a tool that appears later can be called and found", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await using client = await connectClient(home);
  assert.match(textOf(await client.call("search_tools", { query: "was not there before" })), /No tool fits|kit:/);
  await client.use("kit:grow");
  await until(
    "the list is read again",
    async () => textOf(await client.call("search_tools", { query: "grown" })).includes("kit:grown"),
  );
  assert.equal(textOf(await client.use("kit:grown")), "grown");
});

Deno.test("a configuration that cannot be used is explained with every call, and the engine lives", async () => {
  await using home = await createTestHome();
  await Deno.writeTextFile(`${home.dir}/config.yaml`, "servers:\n  kit: [\n");
  await using client = await connectClient(home);
  assert.equal(((await client.request("tools/list")).result as { tools: unknown[] }).tools.length, 5);
  const engine = await home.enginePid();
  for (let i = 0; i < 2; i++) {
    const result = await client.use("kit:echo", { text: "x" });
    assert.equal(result.isError, true);
    assert.match(textOf(result), /Cannot use .*config\.yaml: .*line 3/);
  }
  assert.equal(await home.enginePid(), engine);
});

Deno.test("the log tells what a call looked like, never what it said", async () => {
  await using home = await createTestHome({ servers: SERVERS, engine: { log_level: "debug" } });
  {
    await using client = await connectClient(home);
    await client.use("kit:echo", { text: "canary in the arguments" });
  }
  await home.run(["engine", "stop"]);
  const log = await home.log();
  assert.match(log, /"message":"call".*kit:echo.*arguments: \{text: string\(23\)\}/);
  assert.doesNotMatch(log, /canary in the arguments/);
});
