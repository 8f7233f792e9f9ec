// The protocol's own reference server through our meta-tool: nothing of what it does is lost.
import assert from "node:assert/strict";
import { connectClient, type Era, type Message, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, npmServer, sleep, testServer, until } from "../fixtures/gateway.ts";
import { shareTestHome } from "../fixtures/shared_home.ts";

const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };
const ANSWERS: Record<string, Message> = {
  "elicitation/create": { action: "accept", content: { name: "Ada", check: true } },
  "sampling/createMessage": { role: "assistant", model: "m", content: { type: "text", text: "forty-two" } },
  "roots/list": { roots: [{ uri: "file:///a/project", name: "project" }] },
};

for (const era of ["legacy", "modern"] satisfies Era[]) {
  Deno.test(`server-everything, whole, for a ${era} client`, async () => {
    await using home = await createTestHome({ servers: { everything: npmServer("everything") } });
    await using client = await connectClient(home, { era, capabilities: CAPABILITIES });
    let isOver = false;
    // An older client is asked in between: it answers whatever comes.
    const answering = (async () => {
      const seen = new Set<unknown>();
      while (!isOver) {
        for (const { id, method } of client.others) {
          if (id === undefined || seen.has(id)) continue;
          seen.add(id);
          await client.send({ id, result: ANSWERS[String(method)] });
        }
        await sleep(10);
      }
    })();
    const use = async (tool: string, args: Message = {}, meta: Message = {}) => {
      let result = await client.use(`everything:${tool}`, args, meta);
      while (result.resultType === "input_required") {
        const answered = Object.entries(result.inputRequests!).map((
          [key, { method }],
        ) => [key, ANSWERS[String(method)]]);
        const _retry = { inputResponses: Object.fromEntries(answered), requestState: result.requestState };
        result = await client.use(`everything:${tool}`, args, { ...meta, _retry });
      }
      return result;
    };
    try {
      const weather = await use("get-structured-content", { location: "Chicago" });
      assert.deepEqual(Object.keys(weather.structuredContent as object).sort(), [
        "conditions",
        "humidity",
        "temperature",
      ]);
      const image = await use("get-tiny-image");
      assert.ok(image.content.some(({ type, mimeType }) => type === "image" && mimeType === "image/png"));
      const links = await use("get-resource-links", { count: 3 });
      assert.equal(links.content.filter(({ type }) => type === "resource_link").length, 3);
      const annotated = await use("get-annotated-message", { messageType: "error", includeImage: true });
      assert.match(JSON.stringify(annotated), /"annotations":/);

      const progress = { duration: 0.4, steps: 4 };
      await use("trigger-long-running-operation", progress, { progressToken: "four" });
      const told = client.others.filter(({ method }) => method === "notifications/progress");
      assert.deepEqual(told.map(({ params }) => (params as Message).progress), [1, 2, 3, 4]);

      assert.match(textOf(await use("trigger-sampling-request", { prompt: "the answer?" })), /forty-two/);
      assert.match(JSON.stringify(await use("trigger-elicitation-request")), /Ada/);
      const roots = await use("get-roots-list");
      assert.match(JSON.stringify(roots), /file:\/\/\/a\/project/);
      const wrong = await use("get-sum", { a: "one" });
      assert.equal(wrong.isError, true, "a tool's error stays a tool's error");
    } finally {
      isOver = true;
      await answering;
    }
  });

  Deno.test(`a cancellation of a ${era} client is at the server within 100 ms`, async () => {
    const servers = { kit: testServer("kit"), modern: testServer("kit", "--modern", "--name=modern") };
    await using home = await createTestHome({ servers });
    await using client = await connectClient(home, { era });
    for (const server of ["kit", "modern"]) {
      await client.use(`${server}:echo`, { text: "warm" });
      const times: number[] = [];
      for (let i = 0; i < 5; i++) {
        const id = `hang-${server}-${i}`;
        const call = { tool: `${server}:hang`, arguments: {} };
        void client.request("tools/call", { name: "call_tool", arguments: call }, id).catch(() => {});
        await until("it is at the server", async () => textOf(await client.use(`${server}:hung`)) === String(i + 1));
        const sent = Date.now();
        await client.send({ method: "notifications/cancelled", params: { requestId: id } });
        const at = async () => Number(textOf(await client.use(`${server}:cancelled_at`)));
        await until("it is cancelled", async () => await at() >= sent);
        times.push(await at() - sent);
      }
      const median = times.toSorted((a, b) => a - b)[2]!;
      assert.ok(median <= 100, `${median} ms`);
    }
  });
}

Deno.test("a page that must be visited is put to the human, and the call is made again when its server says so", async () => {
  await using home = await shareTestHome({ servers: { kit: testServer("kit") } });
  await using client = await connectClient(home, { capabilities: CAPABILITIES });
  const calling = client.use("kit:gate");
  const question = () => client.others.find(({ method }) => method === "elicitation/create");
  await until("the question", () => question() !== undefined);
  assert.equal((question()!.params as Message).url, "https://example.com/gate");
  await client.send({ id: question()!.id, result: { action: "accept" } });
  assert.equal(textOf(await calling), "through");
  assert.ok(client.others.some(({ method }) => method === "notifications/elicitation/complete"));
});

Deno.test("a question to a client that can ask nobody makes its call wait and says how to go on", async () => {
  await using home = await shareTestHome({ servers: { kit: testServer("kit") } });
  await using mute = await connectClient(home);
  const waiting = JSON.parse(textOf(await mute.use("kit:ask")));
  assert.deepEqual([waiting.status, waiting.pending.reason], ["paused", "question"]);
  assert.match(waiting.pending.why, /What is your name\?/);
  assert.match(waiting.pending.how, new RegExp(`agentcards runs resume ${waiting.workflow_id}`));
  const page = JSON.parse(textOf(await mute.use("kit:gate")));
  assert.deepEqual([page.pending?.reason, page.pending?.why], ["question", "it asks: [server kit] Please sign in"]);
  // What the server began is not begun again until somebody is there who can answer.
  const file = `${home.dir}/begun`;
  const begun = JSON.parse(textOf(await mute.use("kit:append_asked", { file })));
  assert.deepEqual([begun.pending.reason, begun.pending.call], ["question", {
    tool: "kit:append_asked",
    arguments: { file },
  }]);
  const times = async () => (await Deno.readTextFile(file)).split("\n").filter((line) => line === "begin").length;
  assert.equal(await times(), 1);
  const inVain = await mute.call("resume_workflow", { workflow_id: begun.workflow_id, action: "continue" });
  assert.equal(JSON.parse(textOf(inVain)).pending.reason, "question");
  assert.equal(await times(), 1);
  await using asking = await connectClient(home, { capabilities: CAPABILITIES });
  const resumed = asking.call("resume_workflow", { workflow_id: begun.workflow_id, action: "continue" });
  const question = () => asking.others.find(({ method }) => method === "elicitation/create");
  await until("the question", () => question() !== undefined);
  await asking.send({ id: question()!.id, result: { action: "accept", content: {} } });
  assert.deepEqual(JSON.parse(textOf(await resumed)).results, { call: "accept" });
  assert.equal(await times(), 2);
  const code = await mute.call("execute_code", { code: "return await kit.ask({})" });
  assert.match(textOf(code), /asks a human: \[server kit\] What is your name\?/);
  const paused = JSON.parse(
    textOf(await mute.call("run_workflow", { tasks: [{ id: "q", tool: "kit:ask", arguments: {} }] })),
  );
  assert.deepEqual([paused.status, paused.pending.reason], ["paused", "question"]);
  // Some clients know forms only, some pages only.
  await using forms = await connectClient(home, { capabilities: { elicitation: {} } });
  assert.equal(JSON.parse(textOf(await forms.use("kit:visit"))).pending.reason, "question");
  assert.equal(JSON.parse(textOf(await forms.use("kit:gate"))).pending.reason, "question");
  await using pages = await connectClient(home, { era: "modern", capabilities: { elicitation: { url: {} } } });
  assert.equal(JSON.parse(textOf(await pages.use("kit:ask"))).pending.reason, "question");
  // Neither sampling nor roots are a human's business: a client that has none gives none.
  assert.match(textOf(await mute.use("kit:sample")), /No client is connected that answers sampling/);
  assert.match(textOf(await mute.use("kit:roots")), /No client is connected that answers roots/);
});

for (const server of ["legacy", "modern"] as const) {
  Deno.test(`a ${server} server is told the capabilities of the client behind the call, and no others`, async () => {
    const args = server === "modern" ? ["--modern"] : [];
    await using home = await createTestHome({
      servers: { kit: testServer("kit", ...args), all: { ...testServer("kit", ...args), shared: true } },
    });
    const told = async (client: RawClient, by: string, name = "kit") => {
      const result = by === "call_tool"
        ? await client.use(`${name}:told`)
        : by === "run_workflow"
        ? await client.call("run_workflow", { tasks: [{ id: "told", tool: `${name}:told` }] })
        : await client.call("execute_code", { code: `return await ${name}.told({})` });
      const value = JSON.parse(textOf(result));
      return Object.keys(by === "call_tool" ? value : by === "run_workflow" ? value.results.told : value.result).sort();
    };
    for (const era of ["legacy", "modern"] as const) {
      for (const capabilities of [{}, { roots: {} }, { sampling: {} }, { elicitation: {} }, CAPABILITIES]) {
        await using client = await connectClient(home, { era, capabilities });
        const expected = Object.keys(capabilities).sort();
        for (const by of ["call_tool", "run_workflow", "execute_code"]) {
          assert.deepEqual(await told(client, by), expected, `${era} client, ${by}`);
        }
        // A process that several clients use hears once what its client can do: nothing that only one of them can.
        assert.deepEqual(await told(client, "call_tool", "all"), server === "modern" ? expected : []);
      }
    }
    const typed = JSON.parse((await home.run(["call", "kit:told", "--json"])).stdout);
    assert.deepEqual(JSON.parse(typed.content[0].text), {}, "a command without a terminal can ask nobody");
  });
}

Deno.test("a filesystem server keeps its configured folders where the client has no roots", async () => {
  await using home = await createTestHome((dir) => ({
    servers: { files: npmServer("filesystem", `${dir}/documents`) },
  }));
  await Deno.mkdir(`${home.dir}/documents`);
  await Deno.mkdir(`${home.dir}/elsewhere`);
  await Deno.writeTextFile(`${home.dir}/elsewhere/secret.txt`, "not for this server");
  await using client = await connectClient(home, { cwd: `${home.dir}/elsewhere` });
  const allowed = async () => textOf(await client.use("files:list_allowed_directories"));
  await allowed();
  // A server that was told of roots asks for them a moment after it has started.
  await sleep(1_500);
  assert.match(await allowed(), /documents/);
  assert.doesNotMatch(await allowed(), /elsewhere/);
  const read = await client.use("files:read_text_file", { path: `${home.dir}/elsewhere/secret.txt` });
  assert.equal(read.isError, true);
  const typed = await home.run(["call", "files:list_allowed_directories"], { cwd: `${home.dir}/elsewhere` });
  assert.match(typed.stdout, /documents/);
});

Deno.test("a human may take longer to answer than a call may take", async () => {
  await using home = await createTestHome({ servers: { kit: { ...testServer("kit"), timeout: 1_000 } } });
  await using client = await connectClient(home, { capabilities: CAPABILITIES });
  const workflow = () => client.call("run_workflow", { tasks: [{ id: "q", tool: "kit:ask", arguments: {} }] });
  for (const call of [() => client.use("kit:ask"), workflow]) {
    client.others.length = 0;
    const calling = call();
    const question = () => client.others.find(({ method }) => method === "elicitation/create");
    await until("the question", () => question() !== undefined);
    await sleep(1_800);
    await client.send({ id: question()!.id, result: { action: "accept", content: { name: "Ada" } } });
    assert.match(textOf(await calling), /Ada/);
  }
  const late = await client.use("kit:wait", { ms: 3_000 });
  assert.match(textOf(late), /did not answer within 1 s/, "its time goes on afterwards");
});

Deno.test("a log level that was set before a server started holds for it, too", async () => {
  await using home = await shareTestHome({ servers: { kit: testServer("kit") } });
  await using client = await connectClient(home);
  assert.deepEqual((await client.request("logging/setLevel", { level: "error" })).result, {});
  assert.equal(textOf(await client.use("kit:level")), "error");
  await client.use("kit:log");
  const logged = client.others.filter(({ method }) => method === "notifications/message");
  assert.deepEqual(logged.map(({ params }) => (params as Message).level), ["error"]);
});

Deno.test("a server that says nonsense about its progress harms nobody", async () => {
  await using home = await shareTestHome({ servers: { kit: testServer("kit") } });
  await using client = await connectClient(home);
  const tasks = [{ id: "t", tool: "kit:odd_progress", arguments: {} }];
  const run = await client.call("run_workflow", { tasks }, { progressToken: "p" });
  assert.equal(JSON.parse(textOf(run)).results.t, "still here");
  const code = await client.call("execute_code", { code: "return await kit.odd_progress({})" }, { progressToken: "q" });
  assert.match(textOf(code), /still here/);
});
