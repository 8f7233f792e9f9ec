// Resources and prompts of all servers, under names that no two share, for both kinds of client and server.
import assert from "node:assert/strict";
import { connectClient, type Era, type Message, textOf } from "../fixtures/client.ts";
import { createTestHome, type TestHome, testServer, until } from "../fixtures/gateway.ts";

const SERVERS = {
  old: testServer("kit", "--offers", "--name=old"),
  young: testServer("kit", "--offers", "--modern", "--name=young"),
};

const resultOf = (message: Message) => {
  assert.ok(message.result, JSON.stringify(message));
  return message.result as Record<string, Message[]> & Message;
};

Deno.test("Markdown files are prompts: of the home, and of a trusted project", async () => {
  await using home = await createTestHome({ servers: {} });
  const cwd = `${home.dir}/project`;
  await Deno.mkdir(`${home.dir}/prompts`);
  await Deno.mkdir(`${cwd}/.agentcards/prompts`, { recursive: true });
  await Deno.writeTextFile(
    `${home.dir}/prompts/review.md`,
    "---\ndescription: Reviews a change\narguments:\n  depth: { required: false, description: How deep }\n---\n" +
      "Review $INPUT.branch. $INPUT.depth\nRun workflow:check with $$INPUT.x and $OUTPUT[a].\n",
  );
  await Deno.writeTextFile(`${home.dir}/prompts/broken.md`, "---\nnone: 1\n---\nx");
  for (const name of ["review", "mine"]) await Deno.writeTextFile(`${cwd}/.agentcards/prompts/${name}.md`, "project");
  await using client = await connectClient(home, { cwd });
  const list = async () => resultOf(await client.request("prompts/list")).prompts!;
  assert.deepEqual(await list(), [{
    name: "review",
    description: "Reviews a change",
    arguments: [
      { name: "depth", description: "How deep", required: false },
      { name: "branch", required: true },
    ],
  }]);
  const got = resultOf(await client.request("prompts/get", { name: "review", arguments: { branch: "$INPUT.depth" } }));
  assert.deepEqual(got.messages, [{
    role: "user",
    content: { type: "text", text: "Review $INPUT.depth. \nRun workflow:check with $INPUT.x and $OUTPUT[a]." },
  }]);
  const missing = await client.request("prompts/get", { name: "review" });
  assert.match(JSON.stringify(missing.error), /The prompt review needs branch/);
  await home.run(["trust", "--yes"], { cwd });
  await until("the project is trusted", async () => (await list()).length === 2);
  assert.deepEqual((await list()).map(({ name }) => name), ["review", "mine"]);
  assert.match(
    JSON.stringify(resultOf(await client.request("prompts/get", { name: "review", arguments: { branch: "b" } }))),
    /Review b/,
  );
});

for (const era of ["legacy", "modern"] satisfies Era[]) {
  Deno.test(`a ${era} client lists and reads what all servers offer, each under its own name`, async () => {
    await using home = await createTestHome({ servers: SERVERS });
    await using client = await connectClient(home, { era });
    const { resources } = resultOf(await client.request("resources/list"));
    assert.deepEqual(resources!.map(({ uri }) => uri), [
      "agentcards://old/note://one",
      "agentcards://young/note://one",
    ]);
    assert.deepEqual(resources![0]!._meta, { "example.com/kept": true }, "nothing of an entry is lost");
    const { resourceTemplates } = resultOf(await client.request("resources/templates/list"));
    assert.deepEqual(resourceTemplates!.map(({ uriTemplate }) => uriTemplate), [
      "agentcards://old/note://by/{id}",
      "agentcards://young/note://by/{id}",
    ]);
    for (const server of ["old", "young"]) {
      const uri = `agentcards://${server}/note://by/7`;
      const read = resultOf(await client.request("resources/read", { uri }));
      assert.deepEqual(read.contents, [{ uri, mimeType: "text/plain", text: `${server} says note://by/7` }]);
      if (era === "modern") assert.deepEqual([read.resultType, read.ttlMs], ["complete", 0]);
      const missing = await client.request("resources/read", { uri: `agentcards://${server}/other://x` });
      const { code } = missing.error as { code: number };
      assert.ok(era === "modern" ? code === -32602 : [-32002, -32602].includes(code), String(code));

      const prompts = resultOf(await client.request("prompts/list")).prompts!;
      assert.deepEqual(prompts.map(({ name }) => name), ["old__letter", "young__letter"]);
      const got = resultOf(
        await client.request("prompts/get", { name: `${server}__letter`, arguments: { to: "Ada" } }),
      );
      assert.match(JSON.stringify(got.messages), new RegExp(`${server}: dear Ada, letter`));
      const completed = resultOf(
        await client.request("completion/complete", {
          ref: { type: "ref/prompt", name: `${server}__letter` },
          argument: { name: "to", value: "A" },
        }),
      ) as { completion?: { values: string[] } };
      assert.equal(completed.completion?.values[0], `${server} {"type":"ref/prompt","name":"letter"} A`);
    }
    const unclear = await client.request("resources/read", { uri: "note://one" });
    assert.match(JSON.stringify(unclear.error), /Several servers have note:\/\/one: agentcards:\/\/old\/note/);
    const nothing = await client.request("prompts/get", { name: "letter" });
    assert.match(JSON.stringify(nothing.error), /There is no prompt/);
  });

  Deno.test(`a ${era} client hears when a resource it watches changes, whichever engine and process serve it`, async () => {
    await using home = await createTestHome({ servers: SERVERS });
    await home.run(["index"]);
    await using client = await connectClient(home, { era });
    const uris = ["old", "young"].map((server) => `agentcards://${server}/note://one`);
    const watch = async () => {
      if (era === "modern") {
        const params = { notifications: { resourceSubscriptions: uris }, _meta: undefined };
        void client.request("subscriptions/listen", params, "watching").catch(() => {});
        await until(
          "the server agrees",
          () => client.others.some(({ method }) => method === "notifications/subscriptions/acknowledged"),
        );
      } else for (const uri of uris) resultOf(await client.request("resources/subscribe", { uri }));
    };
    await watch();
    const updates = () =>
      client.others.filter(({ method }) => method === "notifications/resources/updated")
        .map(({ params }) => (params as Message).uri);
    for (const [i, server] of ["old", "young"].entries()) {
      await until("the server knows", async () => textOf(await client.use(`${server}:touch`)).includes("note://one"));
      await until("the news", () => updates().includes(uris[i]!));
    }
    if (era === "modern") return;
    for (const uri of uris) resultOf(await client.request("resources/unsubscribe", { uri }));
    for (const server of ["old", "young"]) {
      await until("the server forgets", async () => !textOf(await client.use(`${server}:touch`)).includes("note"));
    }
    const before = updates().length;
    await client.use("old:touch");
    await client.use("young:touch");
    assert.equal(updates().length, before, "what nobody watches is not told");
  });
}

Deno.test("resources can be turned off, policy holds for them, and a link without a server is found where it is clear", async () => {
  await using closed = await createTestHome({ servers: SERVERS, expose: { resources: false } });
  await using without = await connectClient(closed, { handshake: false });
  const { capabilities } = resultOf(
    await without.request("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    }),
  );
  assert.deepEqual(Object.keys(capabilities as object), ["tools", "logging"]);
  await without.send({ method: "notifications/initialized" });
  const refused = await without.request("resources/list");
  assert.equal((refused.error as { code: number }).code, -32601);
  const read = await without.request("resources/read", { uri: "agentcards://old/note://one" });
  assert.equal((read.error as { code: number }).code, -32601, "what is turned off cannot be read either");

  const policy = { deny: ["=young:*"] };
  await using home = await createTestHome({ servers: SERVERS, policy });
  await using client = await connectClient(home);
  const { resources } = resultOf(await client.request("resources/list"));
  assert.deepEqual(resources!.map(({ uri }) => uri), ["agentcards://old/note://one"]);
  const denied = await client.request("resources/read", { uri: "agentcards://young/note://one" });
  assert.match(JSON.stringify(denied.error), /policy\.deny has/);
});

Deno.test("resources are declared where a server is known to have some, and listed without starting anything", async () => {
  await using bare = await createTestHome({ servers: { kit: testServer("kit") } });
  await bare.run(["index"]);
  await using home = await createTestHome({ servers: { old: SERVERS.old } });
  {
    await using first = await connectClient(home);
    assert.equal(resultOf(await first.request("resources/list")).resources!.length, 1);
  }
  await home.run(["engine", "stop"]);
  const declared = async (place: TestHome) => {
    await using modern = await connectClient(place, { era: "modern" });
    return Object.keys(resultOf(await modern.request("server/discover")).capabilities as object);
  };
  assert.deepEqual(await declared(bare), ["tools", "logging"]);
  assert.deepEqual(await declared(home), ["tools", "resources", "prompts", "completions", "logging"]);
  await using client = await connectClient(home);
  assert.equal(resultOf(await client.request("prompts/list")).prompts!.length, 1);
  const status = JSON.parse((await home.run(["status", "--json"])).stdout);
  assert.doesNotMatch(JSON.stringify(status.servers), /"state":"running"/);
  assert.match(
    JSON.stringify(resultOf(await client.request("resources/read", { uri: "note://one" }))),
    /old says note/,
  );
});

Deno.test("pol-107: policy judges a resource in every spelling, also where it is only watched", async () => {
  await using home = await createTestHome({
    servers: { old: SERVERS.old },
    policy: { deny: ["old:note://by/secret"] },
  });
  await using client = await connectClient(home);
  const spellings = [
    "note://by/secret",
    "note://by/x/../secret",
    "NOTE://by/secret",
    "note://by/%73ecret",
    "note://by//secret",
    "note://by/%2fsecret",
    "note://by/%25252fsecret",
    "note://by/%2573ecret",
  ];
  for (const uri of spellings) {
    for (const method of ["resources/read", "resources/subscribe"]) {
      const { error } = await client.request(method, { uri: `agentcards://old/${uri}` });
      assert.match(JSON.stringify(error), /policy\.deny has/, `${method} ${uri}`);
    }
  }
  assert.ok(resultOf(await client.request("resources/read", { uri: "agentcards://old/note://by/other" })));
});

Deno.test("a server whose resources cannot be listed keeps its tools", async () => {
  await using home = await createTestHome({ servers: { odd: testServer("kit", "--offers", "--hang", "--name=odd") } });
  await using client = await connectClient(home);
  assert.equal(textOf(await client.use("odd:echo", { text: "x" })), "odd: x");
  assert.deepEqual(resultOf(await client.request("resources/list")).resources, []);
});

Deno.test("personal data in resources and in what a server asks a model is hidden, and given back to its server", async () => {
  const servers = {
    old: testServer("kit", "--offers", "--mail", "--name=old"),
    young: testServer("kit", "--offers", "--mail", "--modern", "--name=young"),
  };
  await using home = await createTestHome({ servers, policy: { pii: "tokenize" } });
  for (const era of ["legacy", "modern"] satisfies Era[]) {
    await using client = await connectClient(home, { era, capabilities: { sampling: {} } });
    const { resources } = resultOf(await client.request("resources/list"));
    assert.doesNotMatch(JSON.stringify(resources), /lovelace/);
    for (const { uri } of resources!) {
      const read = resultOf(await client.request("resources/read", { uri }));
      assert.match(JSON.stringify(read.contents), /says note:\/\/of\/\[email/, "its server was asked for the real one");
    }
    for (const server of ["old", "young"]) {
      const asking = client.use(`${server}:sample_mail`);
      if (era === "modern") {
        const asked = await asking;
        assert.match(JSON.stringify(asked.inputRequests), /Who is \[email:/);
        assert.doesNotMatch(JSON.stringify(asked), /lovelace/);
        continue;
      }
      const question = () => client.others.findLast(({ method }) => method === "sampling/createMessage");
      await until("the question", () => question() !== undefined);
      assert.doesNotMatch(JSON.stringify(client.others), /lovelace/);
      await client.send({
        id: question()!.id,
        result: { role: "assistant", model: "m", content: { type: "text", text: "a" } },
      });
      await asking;
      client.others.length = 0;
    }
  }
});
